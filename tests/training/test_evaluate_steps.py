"""evaluate_steps: what is measured between the ends of epochs, and that it changes nothing else."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import lockstep as ls
from lockstep.errors import InputError
from lockstep.frameworks import registry
from lockstep.training import Training
from lockstep.training.events import Event, StepsCompleted, StepsEvaluated

from .running import PATHS, after_epoch, assert_same_run, at_step, small

# airfoil made small has 7 steps an epoch and 3 epochs; multiples of 3 up to 21, which ends the run
BETWEEN = [0, 3, 6, 9, 12, 15, 18]


def summary(result: ls.Result) -> list[tuple[int, int, dict[str, float]]]:
    return [(e.step, e.epoch, e.metrics) for e in result.history.evaluations]


@pytest.mark.parametrize("path", PATHS)
def test_measured_at_multiples_with_the_weights_of_that_step(path: str) -> None:
    measured: dict[int, tuple[float, float]] = {}

    def look(event: Event, training: Training) -> None:
        if isinstance(event, StepsEvaluated):
            weights = training.program.dump(training.state).weights
            data = training.task.splits["train"]
            error = data["x"] @ weights["w"] + weights["b"] - data["y"]
            measured[event.step] = float((error**2).sum() / 2 / len(error)), training.seconds

    spec = small("airfoil", path, precision="float64", evaluate_steps=3)
    result = ls.train(spec, callbacks=[look])
    found = result.history.evaluations
    assert [e.step for e in found] == BETWEEN
    assert [e.epoch for e in found] == [0, 0, 0, 1, 1, 2, 2]
    for event in found:
        loss, seconds = measured[event.step]
        # float64 sums of 211 squares in another order
        assert event.metrics == {"final_train_loss": pytest.approx(loss, rel=1e-12)}
        assert event.seconds == seconds
    assert found[0].metrics["final_train_loss"] > 1.5 * found[-1].metrics["final_train_loss"]
    # the path, and what is measured at the ends of epochs, are those of the run without
    plain = ls.train(small("airfoil", path, precision="float64"))
    assert plain.history.evaluations == []
    assert_same_run(plain, result)


@pytest.mark.parametrize(
    ("evaluate_epochs", "every", "steps"),
    [(1, 7, [0]), (2, 7, [0, 7]), (2, 14, [0]), (1, 100, [0])],
)
def test_the_end_of_an_epoch_is_measured_once(
    evaluate_epochs: int, every: int, steps: list[int]
) -> None:
    """Epochs end after 7, 14 and 21 steps; with evaluate_epochs 2 that of 7 measures nothing."""
    spec = small("airfoil", evaluate_steps=every, evaluate_epochs=evaluate_epochs)
    assert [e.step for e in ls.train(spec).history.evaluations] == steps


@pytest.mark.parametrize("path", ["numpy", "torch-concise", "jax"])
def test_a_resumed_run_measures_the_same(path: str, tmp_path: Path) -> None:
    """Stopped at a step that is measured, at one that is not, and after an epoch."""
    spec = small("gru-after", path, evaluate_steps=2, checkpoint_steps=2)
    whole = ls.train(spec)
    folder = tmp_path / "run"
    ls.train(spec, out=folder, callbacks=[at_step(2)], event_steps=1)
    ls.resume(folder, callbacks=[at_step(3)], event_steps=1)
    ls.resume(folder, callbacks=[after_epoch(1)], event_steps=5)
    parts = ls.resume(folder)
    assert_same_run(whole, parts)
    assert summary(whole) == summary(parts)
    assert set(whole.history.evaluations[0].metrics) == {
        "final_train_loss",
        "final_train_perplexity",
    }


def test_killed_before_and_after_a_measurement(tmp_path: Path) -> None:
    """What a killed process leaves: the log goes further than the last checkpoint."""

    class KilledError(Exception):
        pass

    def kill(step: int):  # type: ignore[no-untyped-def]
        def callback(event: Event, training: Training) -> None:
            if training.step >= step and isinstance(event, StepsEvaluated | StepsCompleted):
                raise KilledError

        return callback

    spec = small("airfoil", evaluate_steps=3, checkpoint_steps=4)
    whole, folder = ls.train(spec), tmp_path / "run"
    with pytest.raises(KilledError):
        ls.train(spec, out=folder, callbacks=[kill(0)])
    for step in (3, 5, 12, 13):
        with pytest.raises(KilledError):
            ls.resume(folder, callbacks=[kill(step)], event_steps=1)
    parts = ls.resume(folder)
    assert_same_run(whole, parts)
    assert summary(whole) == summary(parts)


def test_a_measured_loss_that_is_not_finite_ends_the_run() -> None:
    """The batches' own losses are finite; one example of the test split is far away."""
    x, y = np.ones((8, 1)), np.ones(8)
    far = np.full((1, 1), 1e160)
    mine = ls.own(_line, x, y, weights={"w": np.zeros((1, 1))}, x_test=far, y_test=np.zeros(1))
    spec = mine.run(
        lr=0.1, batch_size=4, epochs=3, precision="float64", evaluate=("test",), evaluate_steps=1
    )
    result = ls.train(spec, mine)
    assert result.status == "diverged"
    assert [e.metrics["test_loss"] for e in result.history.evaluations] == [0.0]
    assert len(result.history) == 1
    assert result.weights["w"].item() == 0.0


def _line(ops, w, x):  # type: ignore[no-untyped-def]
    return x @ w["w"]


def test_the_time_of_measuring_is_not_that_of_steps() -> None:
    spec = small("airfoil", evaluate_steps=1)
    result = ls.train(spec, callbacks=[_slow_evaluation])
    assert result.history.seconds < 0.5 * 0.05 * 21  # 21 evaluations that take 0.05 s each
    assert result.history.evaluations[-1].seconds < 0.5 * 0.05 * 21


def _slow_evaluation(event: Event, training: Training) -> None:
    if isinstance(event, StepsEvaluated) and event.step == 0:
        plain = training.program.evaluate

        def slow(*given):  # type: ignore[no-untyped-def]
            time.sleep(0.05)
            return plain(*given)

        training.program.evaluate = slow  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("framework", "launch"), [("numpy", "auto"), ("numpy", "apart"), ("torch", "auto")]
)
def test_on_several_devices_and_in_other_processes(framework: str, launch: str) -> None:
    if not registry.is_installed(framework):
        pytest.skip(f"needs {framework}")
    spec = small("airfoil", precision="float64", evaluate_steps=4)
    one = ls.train(spec)
    how = ls.training.in_processes.Launch(apart=launch == "apart")
    several = spec.with_fields({"framework": framework, "devices": 2})
    heard: list[Event] = []
    other = ls.train(several, launch=how, listeners=[heard.append])
    assert [e.step for e in other.history.evaluations] == [0, 4, 8, 12, 16, 20]
    assert [e for e in heard if isinstance(e, StepsEvaluated)] == other.history.evaluations
    for mine, theirs in zip(one.history.evaluations, other.history.evaluations, strict=True):
        assert (mine.step, mine.epoch) == (theirs.step, theirs.epoch)
        # float64, gradients summed over two devices
        assert theirs.metrics == pytest.approx(mine.metrics, rel=1e-12)


def test_nothing_to_measure_is_refused() -> None:
    with pytest.raises(InputError, match="evaluate_steps = 5: no split is measured"):
        small("airfoil", evaluate="", evaluate_steps=5)


def test_the_hash_of_older_runs_stays() -> None:
    spec = ls.recipes.airfoil_linear()
    assert spec.hash != ls.recipes.airfoil_linear(evaluate_steps=5).hash
    assert "evaluate_steps" in spec.to_dict()
    values = spec.to_dict()
    del values["evaluate_steps"]
    assert ls.RunSpec.from_dict(values).hash == spec.hash
