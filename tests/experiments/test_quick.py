"""The quick forms, as a person types them: three here, all of them in a test that is slow."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lockstep import experiments

SECONDS = 600  # all of them, on two cores


def lockstep(*words: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lockstep", "experiment", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout)


def check_answer(folder: Path, name: str) -> None:
    """Its files are there, and the page holds the question and its settings."""
    assert json.loads((folder / "answer.json").read_text())
    page = (folder / "page.html").read_text()
    assert experiments.questions()[name].replace("'", "&#x27;") in page
    assert len(page) < 3e6
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (folder / "figure.svg").read_text()
    assert f"lockstep experiment {name}" in (folder / "answer.md").read_text()
    assert json.loads((folder / "experiment.json").read_text())["seconds"] > 0


@pytest.mark.parametrize("name", ["minibatch", "gates", "replacement"])
def test_three_of_them(name: str, tmp_path: Path) -> None:
    done = lockstep(name, "--quick", "--out", str(tmp_path / name))
    assert done.returncode == 0, done.stderr
    check_answer(tmp_path / name, name)
    if name == "minibatch":  # asked again, nothing is run again
        again = lockstep(name, "--quick", "--out", str(tmp_path / name), "--json")
        assert again.returncode == 0
        assert json.loads(again.stdout) == json.loads((tmp_path / name / "answer.json").read_text())


@pytest.mark.slow
@pytest.mark.timeout(2 * SECONDS)
def test_all_of_them_within_ten_minutes(tmp_path: Path) -> None:
    begin = time.monotonic()
    done = lockstep("all", "--quick", "--out", str(tmp_path), timeout=2 * SECONDS)
    seconds = time.monotonic() - begin
    assert done.returncode == 0, done.stderr[-3000:]
    for name in experiments.questions():
        check_answer(tmp_path / f"{name}-quick", name)
    assert seconds < SECONDS
