"""Which frameworks are compared: those named, all there are, or those that can be used."""

from __future__ import annotations

import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import lockstep as ls
from lockstep.cli import main
from lockstep.comparison import compare
from lockstep.frameworks import registry
from lockstep.frameworks.environments import MARKER, Environment

MakeEnvironment = Callable[[str], Environment]
Hide = Callable[..., None]
OTHERS = [name for name in registry.names() if name != "numpy"]
pytestmark = pytest.mark.usefixtures("without_page", "nothing_left")


def test_all_are_all_there_are(
    tmp_path: Path,
    hide: Hide,
    make_environment: MakeEnvironment,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Those that are missing spoil their own rows, each with its remedy."""
    hide(*OTHERS)
    (make_environment("jax").path / MARKER).unlink()
    words = ["compare", "airfoil-linear", "--frameworks", "all", "--steps", "10", "--json"]
    assert main([*words, "--out", str(tmp_path / "c")]) == 1
    oracle, numpy, *rows = json.loads(capsys.readouterr().out)["rows"]
    assert (oracle["framework"], oracle["oracle"]) == ("numpy", True)
    assert (numpy["status"], numpy["agree"]) == ("completed", True)
    assert [row["framework"] for row in rows] == OTHERS
    for row in rows:
        assert (row["status"], row["agree"], row["verdicts"]) == ("missing", False, [])
        assert f"lockstep env create {row['framework']}" in row["problem"]
    problems = {row["framework"]: row["problem"] for row in rows}
    assert "never finished" in problems["jax"]
    assert "has no environment" in problems["torch"]


@pytest.mark.skipif(not registry.is_installed("torch"), reason="needs torch")
def test_the_default_is_what_can_be_used(
    tmp_path: Path, hide: Hide, make_environment: MakeEnvironment
) -> None:
    """torch lives in an environment of its own; no other framework is there."""
    hide(*OTHERS)
    make_environment("torch")
    found = compare(ls.recipes.airfoil_linear(), steps=20, out=tmp_path / "c")
    assert [row.label for row in found.rows] == ["numpy (oracle)", "numpy", "torch"]
    assert found.agree
    torch = found.rows[-1]
    assert torch.version.split("+")[0] == importlib.metadata.version("torch").split("+")[0]


def test_an_interpreter_that_is_named_comes_before_the_environment(
    tmp_path: Path, make_environment: MakeEnvironment, interpreter: Callable[[str], str]
) -> None:
    make_environment("numpy")
    named = interpreter('touch $FOLDER/named; exec $PYTHON "$@"')
    spec = ls.recipes.airfoil_linear()
    found = compare(
        spec, frameworks=["numpy"], steps=10, out=tmp_path / "c", interpreters={"numpy": named}
    )
    assert found.agree
    assert (tmp_path / "c" / "numpy" / "named").exists()


def test_ctrl_c_of_a_terminal_ends_all(
    tmp_path: Path, nothing_left: Callable[[], list[str]]
) -> None:
    """It reaches the whole group; the worker, which is in none of it, ends with its parent."""
    words = ["compare", "airfoil-linear", "--frameworks", "numpy", "--epochs", "100000"]
    words += ["--steps", "10000000", "--out", str(tmp_path / "c"), "--quiet"]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "lockstep", *words],
        env=os.environ | {"PYTHONPATH": str(Path(ls.__file__).resolve().parents[1])},
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    deadline = time.monotonic() + 60
    while not (tmp_path / "c" / "oracle" / "events.jsonl").exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "lockstep: interrupted\n")
    assert nothing_left() == []
