"""Interpreters that misbehave on purpose, and where the processes that were started are seen."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Interpreter = Callable[[str], str]
# of a worker's job, in the shell
FOLDER = """FOLDER=$(printf %s "$4" | sed 's/.*"directory": "\\([^"]*\\)".*/\\1/')"""


@pytest.fixture
def interpreter(tmp_path: Path) -> Interpreter:
    """A command that takes Python's place; its shell script knows $PYTHON and $FOLDER."""

    def make(script: str) -> str:
        path = tmp_path / f"python-{len(list(tmp_path.iterdir()))}"
        path.write_text(f"#!/bin/sh\nPYTHON={sys.executable}\n{FOLDER}\n{script}\n")
        path.chmod(0o755)
        return str(path)

    return make


@pytest.fixture
def without_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the page out: its figures take longer than a small run."""
    monkeypatch.setattr("lockstep.comparison.Comparison.report", lambda self, path: path)


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Every process that is started; at the end each must have been waited for."""
    started: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def popen(*args: Any, **kwargs: Any) -> subprocess.Popen[bytes]:
        started.append(real(*args, **kwargs))
        return started[-1]

    monkeypatch.setattr("lockstep.processes.children.subprocess.Popen", popen)
    yield started
    assert [process.args for process in started if process.returncode is None] == []
