"""Callbacks: the rate set by hand, stopping, and the plateau, each the same after a resume."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import lockstep as ls
from lockstep.errors import InputError
from lockstep.schedules import plateau
from lockstep.task import assemble
from lockstep.training import Training
from lockstep.training.directory import RunDirectory
from lockstep.training.events import Event, LearningRateSet, RunStarted, StepsCompleted

from .running import after_epoch, assert_same_run, at_step, small


def rate_at(step: int, lr: float | None) -> object:
    """Set the rate once `step` steps are done."""

    def callback(event: Event, training: Training) -> None:
        if isinstance(event, StepsCompleted) and training.step == step:
            training.set_lr(lr)

    return callback


def closed_form(spec: ls.RunSpec, lrs: list[float]) -> dict[str, np.ndarray]:
    """Plain SGD on the squared loss, from its formula: w - lr X^T (X w + b - y) / B."""
    task = assemble(spec)
    x, y = task.splits["train"]["x"], task.splits["train"]["y"]
    start = task.model.initial_weights(spec.seed)
    w, b = start["w"], start["b"]
    rates = iter(lrs)
    for epoch in range(spec.epochs):
        for block in task.plan.epoch(epoch):
            for rows in block:
                error, lr = x[rows] @ w + b - y[rows], next(rates)
                w, b = w - lr * x[rows].T @ error / len(rows), b - lr * error.mean(axis=0)
    return {"w": w, "b": b}


@pytest.mark.parametrize("path", ["numpy", "torch", "torch-concise", "jax"])
def test_the_logged_rate_is_the_rate_used(path: str) -> None:
    """Set at step 5, given back to the schedule at step 12; 7 steps make an epoch."""
    spec = small("airfoil", path, precision="float64", schedule="factor(0.1, factor=0.9)")
    spec = replace(spec, epochs=2)
    callbacks = [rate_at(5, 0.02), rate_at(12, None)]
    result = ls.train(spec, callbacks=callbacks, event_steps=1)
    schedule = [0.1 * 0.9**step for step in range(14)]
    expected = [*schedule[:5], *[0.02] * 7, *schedule[12:]]
    assert result.history[:, "lr"] == pytest.approx(expected, rel=1e-15)
    for name, value in closed_form(spec, expected).items():
        # float64, 14 updates: rounding only
        np.testing.assert_allclose(result.weights[name], value, rtol=1e-11, err_msg=name)


@pytest.mark.parametrize("path", ["numpy", "torch"])
def test_a_rate_by_hand_survives_a_resume(path: str, tmp_path: Path) -> None:
    spec = small("airfoil", path, "momentum")
    callbacks = [rate_at(5, 0.002), rate_at(18, None)]
    whole = ls.train(spec, callbacks=callbacks, event_steps=1)
    assert 0.002 in whole.history[:, "lr"]
    ls.train(spec, out=tmp_path / "run", callbacks=[*callbacks, at_step(9)], event_steps=1)
    parts = ls.resume(tmp_path / "run", callbacks=callbacks, event_steps=1)
    assert_same_run(whole, parts)
    found = [e for e in RunDirectory(tmp_path / "run").events() if isinstance(e, LearningRateSet)]
    assert found == [LearningRateSet(5, 0.002), LearningRateSet(18, None)]


def test_events_fall_on_the_same_steps_after_a_resume(tmp_path: Path) -> None:
    """Every multiple of event_steps is met, so that a callback at an exact step is not missed."""
    spec = small("airfoil", "numpy")
    callbacks = [rate_at(10, 0.5)]
    whole = ls.train(spec, callbacks=callbacks, event_steps=5)
    assert whole.history[:, "lr"].tolist() == [0.1] * 10 + [0.5] * 11
    ls.train(spec, out=tmp_path / "run", callbacks=[*callbacks, at_step(3)], event_steps=3)
    parts = ls.resume(tmp_path / "run", callbacks=callbacks, event_steps=5)
    assert_same_run(whole, parts)


@pytest.mark.parametrize("lr", [-0.1, float("nan"), float("inf"), "fast"])
def test_a_rate_that_is_none(lr: object) -> None:
    with pytest.raises(InputError, match="lr = "):
        ls.train(small("airfoil"), callbacks=[rate_at(5, lr)], event_steps=1)  # type: ignore[arg-type]


def test_stopping_before_the_first_step(tmp_path: Path) -> None:
    def stop(event: Event, training: Training) -> None:
        if isinstance(event, RunStarted):
            training.stop()

    spec = small("gru-after", "torch", "adam")
    result = ls.train(spec, out=tmp_path / "run", callbacks=[stop])
    assert (result.status, len(result.history)) == ("stopped", 0)
    assert_same_run(ls.train(spec), ls.resume(tmp_path / "run"))


def test_a_callback_that_fails_leaves_a_run_that_can_be_resumed(tmp_path: Path) -> None:
    def fail(event: Event, training: Training) -> None:
        if training.step == 4:
            raise RuntimeError("mine")

    spec = replace(small("airfoil", "torch"), checkpoint_steps=3)
    with pytest.raises(RuntimeError, match="mine"):
        ls.train(spec, out=tmp_path / "run", callbacks=[fail], event_steps=1)
    assert_same_run(ls.train(spec), ls.resume(tmp_path / "run"))


PLATEAU = plateau(0.1, factor=0.5, patience=0, threshold=0.5)  # only half the loss is progress


@pytest.mark.parametrize("path", ["numpy", "torch", "jax"])
def test_the_plateau_lowers_the_rate_and_survives_a_resume(path: str, tmp_path: Path) -> None:
    spec = replace(small("airfoil", path, "momentum"), schedule=PLATEAU, epochs=6)
    whole = ls.train(spec)
    state, expected = PLATEAU.start(), []
    for epoch in whole.history.epochs:
        expected += [state.lr] * 7
        state = PLATEAU.update(state, epoch.metrics["train_loss"])
    assert whole.history[:, "lr"].tolist() == expected
    assert expected[0] > expected[-1]
    ls.train(spec, out=tmp_path / "run", callbacks=[after_epoch(2)])
    ls.resume(tmp_path / "run", callbacks=[at_step(32)], event_steps=1)
    assert_same_run(whole, ls.resume(tmp_path / "run"))


def test_the_plateau_watches_one_metric_throughout() -> None:
    """The test loss where there is one; epochs that do not measure it do not count."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    mine = ls.own(
        lambda ops, w, x: x @ w["w"],
        x[:30],
        y[:30],
        x_test=x[30:],
        y_test=100 * y[30:],
        weights={"w": np.zeros((3, 1))},
    )
    rule = plateau(0.1, factor=0.5, patience=0, threshold=0.9)
    spec = mine.run(schedule=rule, batch_size=10, epochs=6, evaluate_epochs=2)
    result = ls.train(spec, mine)
    measured = [e.metrics.get("test_loss") for e in result.history.epochs]
    assert [m is None for m in measured] == [True, False, True, False, True, False]
    state, expected = rule.start(), []
    for value in measured:
        expected += [state.lr] * 3
        state = rule.update(state, value) if value is not None else state
    assert result.history[:, "lr"].tolist() == expected
    assert expected[-1] < 0.1
