"""`lockstep export`: what it writes is what the tools' own readers find."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import lockstep as ls
from lockstep.errors import InputError
from lockstep.loggers.exported import export
from lockstep.training import History
from lockstep.training.directory import RunDirectory

from .conftest import Command


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One with evaluations between epochs, one in which a framework was changed, one that
    diverged; two have the same name."""
    root = tmp_path_factory.mktemp("runs")
    spec = ls.recipes.airfoil_linear(epochs=2, batch_size=100)
    ls.train(spec.with_fields({"evaluate_steps": 10}), out=root / "measured")
    ls.train(spec, out=root / "other" / "measured")
    ls.train(spec.with_fields({"schedule": "constant(50)"}), out=root / "diverged")
    return {
        "measured": root / "measured",
        "other": root / "other" / "measured",
        "diverged": root / "diverged",
    }


def history(folder: Path) -> History:
    return RunDirectory(folder).history()


def test_csv_reads_back_to_the_same_bits(
    lockstep: Command, folder: Path, runs: dict[str, Path]
) -> None:
    done = lockstep("export", str(runs["measured"]), "--to", "csv", "--out", "tables")
    assert done.code == 0, done.err
    assert done.out.splitlines() == [
        "tables/measured-steps.csv  30 steps",
        "tables/measured-epochs.csv  2 epochs",
        "tables/measured-evaluations.csv  3 evaluations",
    ]
    expected = history(runs["measured"])
    with Path("tables/measured-steps.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows] == list(range(30))
    for name in ("loss", "grad_norm", "lr", "seconds"):
        assert [float(row[name]) for row in rows] == expected[:, name].tolist(), name
    assert float(rows[-1]["loss"]) < float(rows[0]["loss"]) / 2
    with Path("tables/measured-epochs.csv").open(newline="") as file:
        epochs = list(csv.DictReader(file))
    assert [float(row["train_loss"]) for row in epochs] == [
        event.metrics["train_loss"] for event in expected.epochs
    ]
    with Path("tables/measured-evaluations.csv").open(newline="") as file:
        assert [int(row["step"]) for row in csv.DictReader(file)] == [0, 10, 20]


def test_parquet_keeps_types_and_says_what_was_asked(
    lockstep: Command, folder: Path, runs: dict[str, Path]
) -> None:
    done = lockstep("export", str(runs["diverged"]), "--to", "parquet", "--out", ".", "--json")
    assert [(item["table"], item["path"]) for item in done.json] == [
        ("steps", "diverged-steps.parquet"),
        ("epochs", "diverged-epochs.parquet"),
    ]
    table = pyarrow.parquet.read_table("diverged-steps.parquet")
    expected = history(runs["diverged"])
    assert table.num_rows == done.json[0]["rows"] == len(expected) > 3
    assert np.array_equal(table["loss"].to_numpy(), expected[:, "loss"])
    assert str(table.schema.field("step").type) == "int64"
    told = table.schema.metadata[b"lockstep.spec"].decode()
    assert ls.RunSpec.from_dict(tomllib.loads(told)) == RunDirectory(runs["diverged"]).spec


def test_tensorboard_of_several_runs_with_one_name(
    lockstep: Command, folder: Path, runs: dict[str, Path]
) -> None:
    names = [str(runs["measured"]), str(runs["other"])]
    done = lockstep("export", *names, "--to", "tensorboard", "--out", "tb", "--json")
    assert [item["rows"] for item in done.json] == [30, 30]
    places = [Path(item["path"]).parent for item in done.json]
    assert len({*places}) == 2
    assert {place.parent for place in places} == {Path("tb")}
    for place, run in zip(places, (runs["measured"], runs["other"]), strict=True):
        found = EventAccumulator(str(place), size_guidance={"scalars": 0})
        found.Reload()
        expected, scalars = history(run), found.Scalars("loss")
        assert [event.step for event in scalars] == list(range(30))
        values = [event.value for event in scalars]
        assert values == expected[:, "loss"].astype(np.float32).tolist()
        ended = RunDirectory(run).log.stat().st_mtime
        assert scalars[-1].wall_time == pytest.approx(ended, abs=1e-3)
        spent = scalars[-1].wall_time - scalars[0].wall_time
        assert 0 <= spent <= expected.seconds


@pytest.mark.parametrize("form", ["csv", "parquet", "tensorboard"])
def test_files_that_are_there_are_kept_unless_asked(
    mistake: Callable[..., str],
    lockstep: Command,
    folder: Path,
    runs: dict[str, Path],
    form: str,
) -> None:
    asked = ("export", str(runs["other"]), "--to", form, "--out", "here")
    assert lockstep(*asked).code == 0
    before = {path: path.stat().st_mtime_ns for path in Path("here").rglob("*")}
    said = mistake(*asked)
    assert "is there already" in said
    assert "--replace" in said
    assert {path: path.stat().st_mtime_ns for path in Path("here").rglob("*")} == before
    foreign = Path("here/measured/events.out.tfevents.1.other")
    foreign.parent.mkdir(exist_ok=True)
    foreign.touch()
    assert lockstep(*asked, "--replace").code == 0
    files = [path for path in Path("here").rglob("*") if path.is_file() and path != foreign]
    assert len(files) == len([path for path in before if path.is_file() or "." in path.name])
    assert foreign.exists()


def test_a_run_or_a_place_that_is_none(
    mistake: Callable[..., str], folder: Path, runs: dict[str, Path]
) -> None:
    assert "is not a run" in mistake("export", "nothing", "--to", "csv", "--out", "x")
    Path("file").write_text("")
    said = mistake("export", str(runs["other"]), "--to", "csv", "--out", "file")
    assert "is a file. Name a folder." in said
    assert not Path("x").exists()
    assert "Did you mean 'parquet'" in mistake("export", "last", "--to", "parket", "--out", "x")


def test_two_runs_are_never_written_under_one_name(folder: Path, runs: dict[str, Path]) -> None:
    named = {"x/y/run": RunDirectory(runs["measured"]), "x-y/run": RunDirectory(runs["other"])}
    with pytest.raises(InputError, match="would be written as x-y-run"):
        export(named, "csv", folder / "out")
    assert not (folder / "out").exists()
