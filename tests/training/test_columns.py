"""A history as tables: plain values, CSV and pandas hold every bit of the run's numbers."""

from __future__ import annotations

import csv
import json
import math
import sys
from pathlib import Path

import pytest

import lockstep as ls
from lockstep.errors import MissingError
from lockstep.training import History, Result
from lockstep.training.events import EpochCompleted, StepsCompleted


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    run = ls.recipes.airfoil_linear(evaluate=("train",), epochs=3)
    return ls.train(run, out=tmp_path_factory.mktemp("runs") / "run")


def test_a_row_for_every_step(result: Result) -> None:
    history = result.history
    table = history.to_dict()
    assert [*table] == ["step", "loss", "grad_norm", "lr", "epoch", "seconds"]
    assert table["step"] == list(range(450))
    assert table["epoch"] == [step // 150 for step in range(450)]
    assert all(type(epoch) is int for epoch in table["epoch"])
    for name in ("loss", "grad_norm", "lr", "seconds"):
        assert table[name] == history[:, name].tolist()
    assert table["loss"][0] > table["loss"][-1] > 0
    assert json.loads(json.dumps(table)) == table


def test_csv_holds_every_bit(result: Result, tmp_path: Path) -> None:
    path = result.history.to_csv(tmp_path / "new" / "steps.csv")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    table = result.history.to_dict()
    assert [float(row["loss"]) for row in rows] == table["loss"]
    assert [int(row["step"]) for row in rows] == table["step"]
    assert b"\r" not in path.read_bytes()


def test_epochs_are_a_second_table(result: Result, tmp_path: Path) -> None:
    epochs = result.history.epochs
    table = epochs.to_dict()
    assert table["epoch"] == [0, 1, 2]
    assert table["step"] == [150, 300, 450]
    means = [sum(result.history[i : i + 150, "loss"]) / 150 for i in (0, 150, 300)]
    assert table["train_loss"] == pytest.approx(means, rel=1e-12)
    assert table["seconds"][-1] == pytest.approx(result.history.seconds, rel=0.01)
    head, *rows = epochs.to_csv(tmp_path / "epochs.csv").read_text().splitlines()
    assert head.split(",") == [*table]
    assert [float(row.split(",")[0]) for row in rows] == table["epoch"]


def test_as_data_frames(result: Result) -> None:
    pandas = pytest.importorskip("pandas", reason="a data frame is pandas'")
    frame = result.history.to_pandas()
    assert frame.index.name == "step"
    assert [*frame.columns] == ["loss", "grad_norm", "lr", "epoch", "seconds"]
    assert frame.loss.to_list() == result.history[:, "loss"].tolist()
    assert frame.groupby("epoch").loss.mean().to_list() == pytest.approx(
        result.history.epochs.to_pandas().train_loss.to_list(), rel=1e-12
    )
    assert isinstance(result.history.epochs.to_pandas(), pandas.DataFrame)


def test_without_pandas_its_extra_is_named(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingError, match=r"pip install 'lockstep-train\[frames\]'"):
        result.history.to_pandas()


def test_what_a_record_lacks(tmp_path: Path) -> None:
    """Lost steps are not a number; a metric that some epochs lack is left out there."""
    history = History([StepsCompleted(0, 0, [5.0], [1.0], [0.1], 1.0)])
    history(StepsCompleted(2, 0, [math.inf], [1.0], [0.1], 1.0))
    history(EpochCompleted(0, 2, {"train_loss": 4.5, "test_loss": 4.0}, 1.0))
    history(EpochCompleted(1, 4, {"train_loss": 2.5}, 2.0))
    history.to_csv(tmp_path / "steps.csv")
    lines = (tmp_path / "steps.csv").read_text().splitlines()
    assert lines[1:] == ["0,5.0,1.0,0.1,0.0,1.0", "1,nan,nan,nan,nan,nan", "2,inf,1.0,0.1,0.0,1.0"]
    assert history.epochs.to_dict()["test_loss"] == [4.0, None]
    history.epochs.to_csv(tmp_path / "epochs.csv")
    assert (tmp_path / "epochs.csv").read_text().splitlines()[2] == "1,4,2.5,,2.0"


def test_an_empty_history() -> None:
    table = History().to_dict()
    assert [*table] == ["step", "loss", "grad_norm", "lr", "epoch", "seconds"]
    assert not any(table.values())
    assert History().epochs.to_dict() == {"epoch": [], "step": [], "seconds": []}
