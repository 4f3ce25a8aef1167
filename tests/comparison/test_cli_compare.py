"""`lockstep compare`: exit codes and output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lockstep.cli import main
from lockstep.frameworks import registry


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


@pytest.mark.usefixtures("without_page")
def test_numbers_of_devices_are_compared(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Ten examples over four devices: the shares are uneven."""
    precise = ("--precision", "float64", "--json")
    assert run(tmp_path / "c", "--framework", "numpy", "--devices", "2,4", *precise) == 0
    found = json.loads(capfd.readouterr().out)
    assert [row["devices"] for row in found["rows"]] == [1, 2, 4]
    assert found["agree"]
    assert found["loss_after"] < 0.7 * found["loss_before"]
    for row in found["rows"][1:]:
        loss = next(v for v in row["verdicts"] if v["quantity"] == "loss")
        assert loss["largest"] < 1e-12  # rounding of 20 steps in float64


@pytest.mark.skipif(not {"torch", "jax"} <= set(registry.installed()), reason="needs torch and jax")
@pytest.mark.usefixtures("without_page")
def test_several_processes_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--devices", "2", "--frameworks", "torch,jax", "--launch", "processes")
    assert run(tmp_path / "c", *options) == 0
    printed = capsys.readouterr().out
    assert "torch on 2 devices and jax on 2 devices compute the oracle's numbers" in printed
    assert "2 processes: jax.distributed" in printed


def test_a_batch_scaled_with_the_devices_is_another_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--framework", "numpy", "--devices", "1,2", "--scale-batch", "linear")
    assert run(tmp_path / "c", *options) == 2
    assert "Name one number of devices" in capsys.readouterr().err
