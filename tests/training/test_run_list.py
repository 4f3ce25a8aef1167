"""`ls.runs` lists the runs below a folder, and `ls.open` brings one back, its data gone or not."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest

import lockstep as ls
from lockstep.errors import LockstepError, MissingError, RunDirectoryError
from lockstep.training import Result
from lockstep.training.run_list import RunList


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Result, Result]:
    """A run that was completed and, after it, one that was stopped, below runs/."""
    monkeypatch.chdir(tmp_path)
    first = ls.train(ls.recipes.airfoil_linear(max_steps=20), out="runs/one")
    stop = lambda event, training: training.step < 10 or training.stop()  # noqa: E731
    run = ls.recipes.airfoil_linear(max_steps=20, model="mlp")
    return first, ls.train(run, out="runs/two", callbacks=[stop], event_steps=5)


def test_runs_are_listed_and_opened(two: tuple[Result, Result]) -> None:
    runs = ls.runs()
    assert len(runs) == 2
    assert [row["status"] for row in runs.rows] == ["completed", "unfinished"]
    first, second = str(runs).splitlines()[-2:]
    assert "one" in first
    assert "unfinished" in second
    assert runs[0].status == "completed"
    assert runs["tw"].spec == two[1].spec
    assert isinstance(runs[1:], RunList)
    assert [str(result.directory) for result in runs[1:]] == ["runs/two"]
    with pytest.raises(IndexError):
        _ = runs[2]
    with pytest.raises(RunDirectoryError, match="three"):
        _ = runs["three"]
    html = runs._repr_html_()
    assert html.count("<svg") == 2  # the loss of each
    assert html.count("</tr>") == 3


def test_the_list_as_a_table(two: tuple[Result, Result], tmp_path: Path) -> None:
    table = ls.runs().to_dict()
    assert table["run"] == ["one", "two"]
    assert table["steps"] == [20, 10]
    assert table["loss"] == [result.metrics["loss"] for result in two]
    assert table["final_train_loss"] == [two[0].metrics["final_train_loss"], None]
    with ls.runs().to_csv(tmp_path / "runs.csv").open(newline="") as file:
        assert [row["folder"] for row in csv.DictReader(file)] == ["runs/one", "runs/two"]


def test_the_list_as_a_data_frame(two: tuple[Result, Result]) -> None:
    pytest.importorskip("pandas", reason="a data frame is pandas'")
    frame = ls.runs().to_pandas()
    assert frame.loc["one", "final_train_loss"] == two[0].metrics["final_train_loss"]
    assert np.isnan(frame.loc["two", "final_train_loss"])


def test_no_runs(tmp_path: Path) -> None:
    runs = ls.runs(tmp_path / "none")
    assert len(runs) == 0
    assert str(runs) == f"no runs in {tmp_path / 'none'}/"
    assert "no runs" in runs._repr_html_()


def test_a_run_that_cannot_be_read_hides_no_other(two: tuple[Result, Result]) -> None:
    Path("runs/one/spec.toml").write_text("batch_size = [")
    assert {row["run"]: row["status"] for row in ls.runs().rows} == {
        "one": "unreadable",
        "two": "unfinished",
    }
    assert "unreadable" in str(ls.runs())
    assert "unreadable" in ls.runs()._repr_html_()


def test_a_result_comes_back_as_it_was(two: tuple[Result, Result]) -> None:
    was, found = two[0], ls.open("runs/one")
    assert found.spec == was.spec
    assert not found.ran
    assert (found.status, found.metrics) == (was.status, was.metrics)
    for name, weight in was.weights.items():
        np.testing.assert_array_equal(found.weights[name], weight)
    assert found.history.to_dict() == was.history.to_dict()
    assert found.task.facts == was.task.facts
    assert found.how_to_continue == ""
    last = ls.open()
    assert last.directory == Path("runs/two")
    assert last.how_to_continue == "continue it with: ls.resume('runs/two')"
    assert last.how_to_continue in str(last)
    assert ls.resume(last.directory).status == "completed"


def test_a_run_whose_data_is_gone(tmp_path: Path) -> None:
    """It opens and predicts; only what asks for the data says what is missing."""
    rows = np.random.default_rng(0).normal(size=(40, 3))
    file = tmp_path / "table.csv"
    np.savetxt(file, rows, delimiter=",", header="a,b,price", comments="")
    fields = {"data.file": str(file), "data.target": "price"}
    run = ls.recipes.table_linear(**fields, batch_size=8, epochs=2)
    was = ls.train(run, out=tmp_path / "run")
    before = was.predict(rows[:5, :2]).values
    file.unlink()
    found = ls.open(tmp_path / "run")
    assert found.metrics == was.metrics
    np.testing.assert_array_equal(found.predict(rows[:5, :2]).values, before)
    assert "completed" in str(found)
    with pytest.raises(LockstepError, match=r"table\.csv"):
        _ = found.task


def test_a_language_model_goes_on(tmp_path: Path) -> None:
    run = ls.recipes.timemachine_gru(max_steps=2, **{"model.num_hiddens": 8})
    was = ls.train(run, out=tmp_path / "run")
    assert ls.open(tmp_path / "run").generate("time", 5) == was.generate("time", 5)


def test_own_arrays_come_back_with_their_task(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(20, 2))
    mine = ls.own(lambda ops, w, x: x @ w["w"], x, x[:, :1], weights={"w": np.ones((2, 1))})
    was = ls.train(mine.run(epochs=1, batch_size=5), mine, out=tmp_path / "run")
    found = ls.open(tmp_path / "run", mine)
    np.testing.assert_array_equal(found.predict(x).values, was.predict(x).values)
    with pytest.raises(RunDirectoryError, match="giving the task"):
        _ = ls.open(tmp_path / "run").task


def test_a_run_without_a_state(two: tuple[Result, Result]) -> None:
    shutil.rmtree("runs/one/checkpoints")
    with pytest.raises(RunDirectoryError, match=r"no weights to open.*resume"):
        ls.open("runs/one")


def test_without_pandas_its_extra_is_named(
    two: tuple[Result, Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(MissingError, match="frames"):
        ls.runs().to_pandas()
