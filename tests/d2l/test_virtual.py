"""Virtual devices of torch behave as GPUs do; they are for a whole process, so they get one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import lockstep
from lockstep.d2l.torch import virtual

SCRIPT = Path(__file__).with_name("virtual_script.py")


def test_virtual_devices() -> None:
    source = str(Path(lockstep.__file__).resolve().parents[1])
    done = subprocess.run(
        [sys.executable, "-W", "error", str(SCRIPT)], capture_output=True, text=True, timeout=200,
        env={**os.environ, "PYTHONPATH": source},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("all as on GPUs", "real GPUs are used")


def test_with_a_gpu_nothing_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for a GPU: torch says that there is one."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    before = dict(vars(torch.cuda)), torch.nn.DataParallel, torch.nn.Parameter.__new__
    assert not virtual.switch_on(2)
    assert before == (dict(vars(torch.cuda)), torch.nn.DataParallel, torch.nn.Parameter.__new__)
    assert torch.ones(1).get_device() == -1
