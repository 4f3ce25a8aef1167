"""The command as a process of its own: exit codes, pipes, plain text."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import lockstep as ls

SOURCE = Path(ls.__file__).resolve().parents[1]


def command(*argv: str) -> list[str]:
    return [sys.executable, "-m", "lockstep", *argv]


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**kept, "PYTHONPATH": str(SOURCE)}


def run(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*argv), cwd=folder, env=environment(), capture_output=True, text=True, timeout=120
    )


def test_train_and_show_are_plain_text_in_a_pipe(tmp_path: Path) -> None:
    done = run(tmp_path, "train", "airfoil-linear", "--out", "run")
    assert done.returncode == 0, done.stderr
    assert "completed" in done.stdout
    assert "training: 300 steps" in done.stderr
    shown = run(tmp_path, "show", "run")
    assert shown.returncode == 0
    assert shown.stderr == ""
    assert "train loss (whole set)" in shown.stdout
    assert "\x1b" not in done.stdout + done.stderr + shown.stdout
    assert "\r" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["train", "airfoil-liner"], 2, "Did you mean 'airfoil-linear'?"),
        (["train", "airfoil-linear", "--lr", "1e30", "--out", "run"], 3, "diverged"),
        (["trian"], 2, "Did you mean 'train'?"),
    ],
)
def test_exit_codes(tmp_path: Path, argv: list[str], code: int, said: str) -> None:
    done = run(tmp_path, *argv)
    assert done.returncode == code
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "Warning" not in done.stderr


def test_a_reader_that_goes_away(tmp_path: Path) -> None:
    """As in `lockstep recipes timemachine-gru | head -1`."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        command("recipes", "timemachine-gru"),
        cwd=tmp_path, env=environment(), stdout=write, stderr=subprocess.PIPE, timeout=60,
    )  # fmt: skip
    os.close(write)
    assert done.stderr == b""
    assert done.returncode == 141
