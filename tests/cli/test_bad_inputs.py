"""However wrong the words and the files, a command says so in words and never with a traceback."""

from __future__ import annotations

import contextlib
import io
import shutil
import traceback
import warnings
from collections import Counter
from pathlib import Path

import pytest

from lockstep.cli import main

from .bad_inputs import Case, case

FEW, MANY = 110, 10_000
CODES = {0, 1, 2, 3}  # as `lockstep --help` says; 1: they part ways, 3: the loss was not finite


def run(argv: list[str]) -> tuple[int | str, str]:
    """The exit code, or the traceback of what should not have come out; and what was said."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code: int | str = main(argv)
        except SystemExit as stop:
            code = int(stop.code or 0)
        except Exception:
            code = traceback.format_exc()
    return code, err.getvalue()


def fault_of(asked: Case) -> tuple[str, int | str]:
    """What is wrong with how a case was answered, "" if nothing is; and its exit code."""
    code, said = run(asked.argv)
    if isinstance(code, str):
        return code, "traceback"
    if code not in CODES:
        return f"exit code {code}", code
    if "Traceback" in said:
        return said, code
    if asked.surely and code != 2:
        return f"exit code {code} where it must be 2", code
    if code == 2 and not any(line.startswith("lockstep: ") for line in said.splitlines()):
        return f"exit code 2 and only {said!r}", code
    return "", code


def answer(count: int, folder: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> Counter[object]:
    """Ask so many cases, each in a folder of its own; fail with all that were answered wrongly."""
    for name in ("LOCKSTEP_ENVIRONMENTS", "LOCKSTEP_CACHE"):  # nothing of this machine is touched
        monkeypatch.setenv(name, str(folder / name))
    faults: list[str] = []
    codes: Counter[object] = Counter()
    for number in range(count):
        place = folder / "case"
        place.mkdir()
        monkeypatch.chdir(place)
        asked = case(number, seed)
        asked.write(place)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fault, code = fault_of(asked)
        codes[code] += 1
        if fault:
            faults.append(f"case {number}: lockstep {str(asked.argv)[:300]}\n{fault[-1500:]}")
        monkeypatch.chdir(folder)
        shutil.rmtree(place)
    assert not faults, f"{len(faults)} of {count}\n" + "\n".join(faults[:20])
    return codes


def test_bad_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = answer(FEW, tmp_path, monkeypatch, seed=1)
    assert codes[2] > FEW / 2  # most of them are wrong, or nothing is tried here


@pytest.mark.slow
@pytest.mark.timeout(3600)  # eight minutes on a core of its own
def test_ten_thousand_bad_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = answer(MANY, tmp_path, monkeypatch, seed=0)
    print(f"{MANY} bad inputs, by exit code: {dict(codes)}")
