"""`lockstep compare`: exit codes and output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lockstep.cli import main


def run(out: Path, *options: str) -> int:
    return main(["compare", "airfoil-linear", "--steps", "20", "--out", str(out), *options])


@pytest.mark.usefixtures("without_page")
def test_json_and_nothing_else_on_stdout(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path / "c", "--frameworks", "numpy", "--json") == 0
    printed = capfd.readouterr()
    found = json.loads(printed.out)
    assert (found["agree"], found["steps"]) == (True, 20)
    assert [verdict["quantity"] for verdict in found["rows"][1]["verdicts"]] == [
        "initial parameters",
        "batch",
        "lr",
        "loss",
        "gradient norm",
        "parameters",
    ]
    assert printed.err == ""


@pytest.mark.usefixtures("without_page")
def test_a_difference_is_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path / "c", "--frameworks", "numpy", "--tolerance", "1e-14") == 1
    printed = capsys.readouterr()
    assert "differs" in printed.out
    assert "--precision float64 shows whether anything else differs" in printed.out
    assert "numpy: completed after" in printed.err


def test_mistakes_are_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path / "c", "--frameworks", "pytorch") == 2
    assert "Did you mean 'torch'" in capsys.readouterr().err
    assert run(tmp_path / "c", "--frameworks", "numpy", "--timeout", "0") == 2
    assert run(tmp_path / "c", "--frameworks", "numpy", "--lr", "nan") == 2
    assert not (tmp_path / "c").exists()
