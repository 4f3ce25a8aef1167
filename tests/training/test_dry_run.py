"""What a dry run says is what the run then does, and nothing is left of it."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

import numpy as np
import pytest

import lockstep as ls
from lockstep.errors import InputError
from lockstep.ops import Snapshot
from lockstep.report.dry_run_table import print_dry_run
from lockstep.training.directory import RunDirectory
from lockstep.training.dry_run import dry_run
from lockstep.training.events import Event, RunDiverged
from lockstep.training.in_processes import Launch

from .running import small


@pytest.mark.parametrize("launch", [Launch(), Launch(apart=True)], ids=["here", "another process"])
def test_it_says_what_the_run_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, launch: Launch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    spec = small("lenet", evaluate_epochs=2, **{"data.validation": 0.1})
    found = dry_run(spec, launch=launch)
    assert list(tmp_path.iterdir()) == []
    result = ls.train(spec, progress=False)
    assert found.num_steps == len(result.history)
    assert found.steps_per_epoch == result.history.steps_per_epoch
    assert found.notes == result.history.notes
    assert found.facts == {k: v for k, v in result.history.facts.items() if k != "framework"}
    assert found.examples["train"] + found.examples["validation"] == 100
    assert found.num_parameters == sum(value.size for value in result.weights.values())
    measured = [e for e in result.history.epochs if "final_train_loss" in e.metrics]
    assert found.num_evaluations == len(measured) == 2
    assert found.evaluation_seconds > 0
    # a guess from few steps on a busy machine: its order of magnitude
    assert result.history.seconds / 20 < found.num_steps * found.step_seconds
    assert found.num_steps * found.step_seconds < 20 * result.history.seconds


def test_it_stops_long_before_the_end() -> None:
    spec = ls.recipes.airfoil_linear(epochs=10**6)
    found = dry_run(spec)
    assert found.num_steps == 150 * 10**6
    assert found.seconds > 60
    assert found.evaluation_seconds > 0


def test_text_counts_symbols() -> None:
    found = dry_run(small("gru-after"))
    assert (found.unit, found.examples) == ("symbols", {"train": 400})
    assert found.num_evaluations == 3


def test_it_is_refused_where_the_run_is() -> None:
    spec = ls.recipes.airfoil_linear(batch_size=5000)
    with pytest.raises(InputError) as refused:
        ls.train(spec, progress=False)
    with pytest.raises(InputError) as refused_too:
        dry_run(spec)
    assert str(refused.value) == str(refused_too.value)


def test_evaluations_that_fall_together_are_counted_once() -> None:
    for evaluate_steps, evaluate_epochs in ((0, 2), (10, 1), (4, 2), (5, 3)):
        spec = ls.recipes.airfoil_linear(
            batch_size=200, epochs=7, max_steps=45, evaluate=("train",),
            evaluate_steps=evaluate_steps, evaluate_epochs=evaluate_epochs,
        )  # fmt: skip
        history = ls.train(spec).history
        epochs = [event for event in history.epochs if "final_train_loss" in event.metrics]
        assert dry_run(spec).num_evaluations == len(epochs) + len(history.evaluations) > 2


def test_a_loss_that_is_not_finite_is_said() -> None:
    heard: list[Event] = []
    spec = ls.recipes.airfoil_linear(lr=1e30)
    ls.train(spec, listeners=[heard.append])
    (diverged,) = [event.step for event in heard if isinstance(event, RunDiverged)]
    start = Snapshot({"w": np.full((5, 1), 1e30), "b": np.zeros(1)})
    later, at_once = dry_run(spec), dry_run(spec, start)
    assert (later.diverged, later.seconds) == (diverged, None)
    assert (at_once.diverged, at_once.step_seconds, at_once.seconds) == (0, None, None)
    for found in (later, at_once):
        out = io.StringIO()
        print_dry_run(found, Path("run"), out)
        assert f"the loss is not finite at step {found.diverged}" in out.getvalue()
        assert "steps/s" not in out.getvalue()


def test_memory_is_what_a_process_takes(tmp_path: Path) -> None:
    def with_hiddens(count: int) -> ls.RunSpec:
        changes = {"model.hiddens": str(count), "optimizer": "adam", "evaluate": []}
        return small("mlp", epochs=1, max_steps=2, **changes)

    def peak(spec: ls.RunSpec, name: str) -> int:
        ls.train(spec, out=tmp_path / name, launch=Launch(apart=True), progress=False)
        return int(RunDirectory(tmp_path / name).machine["peak_memory"])

    little, much = with_hiddens(16), with_hiddens(3000)
    told = dry_run(much).memory["total"] - dry_run(little).memory["total"]
    taken = peak(much, "much") - peak(little, "little")
    assert told > 2e8  # far above what a process takes more or less by chance
    assert told / 2 < taken < told * 2
