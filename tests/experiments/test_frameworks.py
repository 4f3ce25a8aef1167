"""The experiment `frameworks`, small: every row of the comparison is told and drawn."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from lockstep.cli import main
from lockstep.comparison import Comparison
from lockstep.experiments import frameworks
from lockstep.experiments.asking import ask
from lockstep.experiments.runs import Work
from lockstep.frameworks import registry
from lockstep.recipes import airfoil_linear
from lockstep.report.charts import framework_colour
from lockstep.report.comparison_charts import LEAST
from lockstep.report.tables import TextTable

OTHERS = tuple(name for name in ("numpy", "torch") if registry.is_installed(name))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("frameworks")


@pytest.fixture(scope="module")
def found(folder: Path) -> Comparison:
    shares: list[float] = []
    asked = frameworks.Question(airfoil_linear(), OTHERS, steps=30)
    comparison = frameworks.run(asked, Work(folder, lambda share, what: shares.append(share)))
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    return comparison


def test_they_compute_the_same_numbers(found: Comparison) -> None:
    assert found.agree
    assert found.num_steps == 30
    table, verdict, *_ = frameworks.tables(found)
    assert isinstance(table, TextTable)
    assert [row[0] for row in table.rows] == ["numpy (oracle)", *OTHERS]
    for row, cells in zip(found.rows, table.rows, strict=True):
        told = dict(zip(table.columns, cells, strict=True))
        assert told["first difference"] == ("-" if row.oracle else "none")
        if not row.oracle:
            assert float(told["largest deviation"]) < 1e-5  # rounding of float32
    assert str(verdict).startswith("agree: ")


def test_the_chart_shows_deviation_time_and_speed(found: Comparison) -> None:
    deviations, by_time, speed = frameworks.chart(found).panels
    lines = [series for series in deviations.series if series.line]
    assert [series.label for series in lines] == list(OTHERS)
    for series, row in zip(lines, found.others, strict=True):
        so_far = np.maximum(np.maximum.accumulate(row.curve.deviation), LEAST)
        np.testing.assert_array_equal(series.y, so_far)
        assert series.colour == framework_colour(row.framework)
    assert [guide.value for guide in deviations.guides] == [found.tolerances["loss"]]
    curves = [series for series in by_time.series if series.line]
    assert [series.label for series in curves] == [row.label for row in found.rows]
    for series, row in zip(curves, found.rows, strict=True):
        np.testing.assert_allclose(series.x[-1], row.curve.seconds[-1])
    assert by_time.x_log
    rates = [row.rate for row in found.rows]
    expected = [(rate.median, rate.low, rate.high) for rate in rates if rate]
    assert [(bar.end, bar.low, bar.high) for bar in speed.bars] == expected
    assert speed.rows == tuple(row.label for row in found.rows)


def test_again_in_the_same_folder(found: Comparison, folder: Path) -> None:
    """A comparison measures time, so it is repeated, in a folder of its own."""
    asked = frameworks.Question(airfoil_linear(), ("numpy",), steps=10)
    again = frameworks.run(asked, Work(folder))
    assert again.num_steps == 10
    assert {found.directory.name, again.directory.name} == {"comparison-1", "comparison-2"}


def test_a_framework_that_is_missing_has_a_row_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCKSTEP_ENVIRONMENTS", str(tmp_path / "none"))
    asked = frameworks.Question(airfoil_linear(), ("numpy", "mxnet"), steps=10)
    found = frameworks.run(asked, Work(tmp_path))
    lines = [str(part) for part in frameworks.tables(found)]
    said = "mxnet missing: framework = 'mxnet': is not installed here, and has no environment"
    assert any(line.startswith(said) for line in lines)
    assert any(line.startswith("no: mxnet is missing") for line in lines)
    *_, speed = frameworks.chart(found).panels
    assert speed.rows == ("numpy (oracle)", "numpy")


def test_quick(tmp_path: Path) -> None:
    outcome = ask(
        "frameworks", out=tmp_path, quick=True, framework=("numpy",), **{"data.source": "generated"}
    )
    assert outcome.found.spec.name == "timemachine-gru"
    assert outcome.found.num_steps == 20
    assert outcome.found.agree
    assert (tmp_path / "page.html").exists()


def test_mistakes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["experiment", "frameworks", "--out", str(tmp_path)]
    assert main([*words, "--framework", "tourch"]) == 2
    assert "framework = 'tourch': is not known. Did you mean 'torch'?" in capsys.readouterr().err
    assert main([*words, "airfoil-linear", "--framework", "numpy", "--precision", "float64"]) == 2
    assert "numpy in float64 is the oracle itself" in capsys.readouterr().err


def test_usable_means_all_that_are_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lockstep.frameworks.environments.usable", lambda: ["numpy", "jax"])
    (item,) = (f for f in dataclasses.fields(frameworks.Question) if f.name == "framework")
    assert item.metadata["read"]("torch,usable") == ("torch", "numpy", "jax")
