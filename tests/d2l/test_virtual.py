"""Virtual devices of torch behave as GPUs do; they are for a whole process, so they get one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import lockstep

SCRIPT = Path(__file__).with_name("virtual_script.py")


def test_virtual_devices() -> None:
    source = str(Path(lockstep.__file__).resolve().parents[1])
    done = subprocess.run(
        [sys.executable, "-W", "error", str(SCRIPT)], capture_output=True, text=True, timeout=200,
        env={**os.environ, "PYTHONPATH": source},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("all as on GPUs", "")
