"""The command line called in this process, in a folder of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lockstep.cli import main


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out, parse_constant=_no_such_constant)


def _no_such_constant(word: str) -> None:
    raise AssertionError(f"{word} is not JSON")


Command = Callable[..., Outcome]

SMALL_TEXT = (
    "--data", "generated", "--batch-size", "4", "--data.window", "5", "--data.max_tokens", "500",
    "--model.num_hiddens", "8",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def lockstep(folder: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """`lockstep("train", "airfoil-linear")` as a shell would call it."""

    def call(*argv: str) -> Outcome:
        capsys.readouterr()
        try:
            code = main(argv)
        except SystemExit as stop:  # argparse's own way out
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Outcome(code, out, err)

    return call


@pytest.fixture
def mistake(lockstep: Command) -> Callable[..., str]:
    """Exit code 2, nothing on stdout, and one line that says what to do."""

    def call(*argv: str) -> str:
        done = lockstep(*argv)
        assert done.code == 2, done
        assert done.out == ""
        assert done.err.startswith("lockstep: ")
        assert done.err.count("\n") == 1
        return done.err

    return call
