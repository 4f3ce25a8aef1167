"""Early stopping: when it stops and which weights it keeps, by a formula of its own, in every
framework, on several devices, and resumed anywhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lockstep as ls
from lockstep.errors import InputError
from lockstep.task import Own
from lockstep.training import checkpoints
from lockstep.training.directory import RunDirectory
from lockstep.training.early_stopping import Best
from lockstep.training.events import BestKept, StoppedEarly
from lockstep.training.weights import trained

from .own_models import absolute, linear, log_cosh
from .running import assert_same_run, at_step, small

FRAMEWORKS = ["numpy", "torch", "jax"]
FLOAT64 = 1e-9  # float64, a hundred updates: only the order of sums differs

# more weights than examples: what is learned of the noise soon makes the validation loss worse
RNG = np.random.default_rng(11)
X = RNG.normal(size=(34, 16))
Y = X[:, 0] - X[:, 1] + 0.8 * RNG.normal(size=34)
NUM_TRAIN, BATCH, LR, EPOCHS, PATIENCE = 14, 4, 0.05, 60, 3


def task(**changes: Any) -> Own:
    given: dict[str, Any] = {
        "weights": {"w": np.zeros((16, 1)), "b": np.zeros(1)},
        "loss": log_cosh,
        "metrics": {"mae": absolute},
        "x_validation": X[NUM_TRAIN:],
        "y_validation": Y[NUM_TRAIN:],
    }
    return ls.own(linear, X[:NUM_TRAIN], Y[:NUM_TRAIN], **(given | changes))


def run_of(mine: Own, **changes: Any) -> ls.RunSpec:
    given: dict[str, Any] = {
        "lr": LR, "batch_size": BATCH, "epochs": EPOCHS, "precision": "float64",
        "patience": PATIENCE, "data": {"order": "in_order"},
    }  # fmt: skip
    return mine.run(**(given | changes))


def expected(watch: str, least_gain: float = 0.0) -> tuple[list[dict[str, float]], int, np.ndarray]:
    """The metrics of every epoch until it stops, which one was best, and the weights of then."""
    w, b = np.zeros(16), 0.0
    found: list[dict[str, float]] = []
    best, kept = 0, np.empty(0)
    for epoch in range(EPOCHS):
        for at in range(0, NUM_TRAIN, BATCH):
            x, y = X[at : min(at + BATCH, NUM_TRAIN)], Y[at : min(at + BATCH, NUM_TRAIN)]
            slope = np.tanh(x @ w + b - y) / len(y)
            w, b = w - LR * x.T @ slope, b - LR * slope.sum()
        gap = X[NUM_TRAIN:] @ w + b - Y[NUM_TRAIN:]
        loss, mae = np.log(2 * np.cosh(gap)).mean(), np.abs(gap).mean()
        found.append({"validation_loss": float(loss), "validation_mae": float(mae)})
        if epoch == 0 or found[-1][watch] < found[best][watch] - least_gain:
            best, kept = epoch, w.copy()
        if epoch - best == PATIENCE:
            break
    return found, best, kept


STEPS = -(-NUM_TRAIN // BATCH)  # of an epoch


def assert_as_expected(result: ls.Result, watch: str, least_gain: float = 0.0) -> None:
    found, best, kept = expected(watch, least_gain)
    assert 1 < best < len(found) - 1 < EPOCHS - 1  # it learned, forgot, and stopped
    assert result.status == "completed"
    assert len(result.history) == len(found) * STEPS
    for event, wanted in zip(result.history.epochs, found, strict=True):
        for name, value in wanted.items():
            assert event.metrics[name] == pytest.approx(value, rel=FLOAT64)
    np.testing.assert_allclose(result.weights["w"][:, 0], kept, rtol=FLOAT64, atol=FLOAT64)
    assert not np.allclose(result.snapshot.weights["w"], result.weights["w"], rtol=1e-3)
    for name, value in found[best].items():
        assert result.metrics[name] == pytest.approx(value, rel=FLOAT64)
    stopped = result.history.stopped
    assert stopped == StoppedEarly(
        len(found) * STEPS, (best + 1) * STEPS, watch, result.metrics[watch], PATIENCE
    )
    assert result.to_dict()["best"] == {
        "step": (best + 1) * STEPS,
        "metric": watch,
        "value": result.metrics[watch],
        "stopped_early": True,
    }


@pytest.mark.parametrize(
    ("framework", "devices"), [("numpy", 1), ("numpy", 3), ("torch", 1), ("torch", 2), ("jax", 2)]
)
def test_stops_where_the_formula_does_on_every_number_of_devices(
    framework: str, devices: int, tmp_path: Path
) -> None:
    mine = task()
    result = ls.train(run_of(mine, framework=framework, devices=devices), mine, out=tmp_path / "a")
    assert_as_expected(result, "validation_loss")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_resumed_by_another_framework_in_mid_run(framework: str, tmp_path: Path) -> None:
    """By its folder alone, in mid-epoch: an own metric is watched, with a least gain."""
    watch = {"watch": "validation_mae", "least_gain": 0.02}
    mine, folder = task(), tmp_path / "run"
    ls.train(run_of(mine, **watch), mine, out=folder, callbacks=[at_step(9)], event_steps=1)
    spec = replace(RunDirectory(folder).spec, framework=framework)
    ls.resume(folder, spec=spec, callbacks=[at_step(18)], event_steps=1)
    result = ls.resume(folder, spec=run_of(mine, **watch))
    assert_as_expected(result, "validation_mae", 0.02)
    assert expected("validation_mae", 0.02)[1] != expected("validation_mae")[1]


RISING = {"data.validation": 0.2, "patience": 2, "epochs": 9}  # its validation loss soon rises
CASES = {"airfoil": {"data.max_examples": 40, "batch_size": 8}, "gru-after": {}}


def rising(name: str, path: str = "numpy", **fields: Any) -> ls.RunSpec:
    lr = {"airfoil": 0.3, "gru-after": 4.0}[name]
    return small(name, path, schedule=f"constant({lr})", **(CASES[name] | RISING | fields))


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("airfoil", "numpy"),
        ("airfoil", "torch-concise"),
        ("airfoil", "jax"),
        ("gru-after", "torch"),
    ],
)
def test_interrupted_anywhere_it_ends_with_the_same_bits(
    name: str, path: str, tmp_path: Path
) -> None:
    spec = rising(name, path, evaluate_steps=2, checkpoint_steps=3)
    whole = ls.train(spec)
    assert whole.history.stopped is not None
    folder = tmp_path / "run"
    ls.train(spec, out=folder, callbacks=[at_step(1)], event_steps=1)
    for step in range(2, len(whole.history) + 2, 5):
        parts = ls.resume(folder, callbacks=[at_step(step)], event_steps=1)
    parts = ls.resume(folder)
    assert_same_run(whole, parts)
    assert whole.history.bests == parts.history.bests
    assert whole.history.stopped == parts.history.stopped
    for key, value in whole.weights.items():
        assert value.tobytes() == parts.weights[key].tobytes(), key


def test_completed_means_completed_until_there_is_more_patience_or_epochs(tmp_path: Path) -> None:
    spec, folder = rising("airfoil"), tmp_path / "run"
    first = ls.train(spec, out=folder)
    assert RunDirectory(folder).status == "completed"
    assert len(first.history) < spec.epochs * first.history.steps_per_epoch
    again = ls.resume(folder)
    assert not again.ran
    assert again.weights["w"].tobytes() == first.weights["w"].tobytes()
    patient = replace(spec, patience=4)
    more = ls.resume(folder, spec=patient)
    assert more.ran
    assert_same_run(ls.train(patient), more)
    longer = ls.resume(folder, spec=replace(patient, epochs=30))
    assert longer.ran
    assert len(longer.history) > len(more.history)
    to_the_end = ls.resume(folder, spec=replace(spec, epochs=40, patience=0))
    assert to_the_end.history.best_to_dict() is None
    assert to_the_end.weights is to_the_end.snapshot.weights


def test_its_weights_are_those_of_the_run_everywhere(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    result = ls.train(rising("gru-after", evaluate_steps=2), out=folder)
    best = result.history.bests[-1]
    found = trained(folder)
    assert found.step == best.step < len(result.history)
    last = len(result.history)
    assert found.notes == (
        f"the best of {last} steps by validation_loss: these are the weights after {best.step}",
    )
    # the same run, ended at that step
    alone = ls.train(rising("gru-after", max_steps=best.step, patience=0))
    for name, value in found.weights.items():
        np.testing.assert_array_equal(value, result.weights[name])
        np.testing.assert_array_equal(value, alone.weights[name])
    assert result.generate("t", 5) == alone.generate("t", 5)
    newest = checkpoints.newest(folder / "checkpoints")
    assert newest is not None
    snapshot, facts = checkpoints.load(newest)
    assert facts["step"] == last
    for name, value in snapshot.weights.items():
        np.testing.assert_array_equal(value, result.snapshot.weights[name])
        np.testing.assert_array_equal(snapshot.best[name], result.weights[name])
    assert any((snapshot.best[n] != value).any() for n, value in snapshot.weights.items())


def test_a_divergence_takes_back_what_was_kept_after_it(tmp_path: Path) -> None:
    """The first measurement is finite, the loss of the batch after it is not."""
    x = np.ones((6, 1))
    y = np.array([0.0, 0.0, 0.0, 0.0, 1e200, 0.0])
    mine = ls.own(
        linear, x, y, weights={"w": np.zeros((1, 1)), "b": np.zeros(1)},
        x_validation=x[:2], y_validation=y[:2],
    )  # fmt: skip
    spec = mine.run(
        batch_size=2, epochs=3, precision="float64", evaluate_steps=1, patience=5,
        data={"order": "in_order"},
    )  # fmt: skip
    folder = tmp_path / "run"
    result = ls.train(spec, mine, out=folder)
    assert result.status == "diverged"
    kept = [event.step for event in RunDirectory(folder).events() if isinstance(event, BestKept)]
    newest = checkpoints.newest(folder / "checkpoints")
    assert newest is not None
    facts = checkpoints.load(newest)[1]
    assert facts["step"] == 1
    assert facts["best"]["step"] <= 1
    assert [event.step for event in result.history.bests] == [s for s in kept if s <= 1]


def test_more_accuracy_is_a_gain_and_less_loss() -> None:
    assert Best("validation_accuracy", 0.5).gains(0.6, 0.0)
    assert not Best("validation_accuracy", 0.5).gains(0.4, 0.0)
    assert Best("validation_loss", 0.5).gains(0.4, 0.0)
    assert not Best("validation_loss", 0.5).gains(0.5, 0.0)
    assert Best("validation_loss").gains(9.0, 1.0)
    assert not Best("validation_loss").gains(np.nan, 0.0)


def test_a_plateau_watches_the_validation_loss_too() -> None:
    schedule = ls.plateau(0.3, factor=0.5, patience=0)
    result = ls.train(replace(rising("airfoil"), schedule=schedule, patience=4))
    state, rates = schedule.start(), []
    for event in result.history.epochs:
        rates.append(state.lr)
        state = schedule.update(state, event.metrics["validation_loss"])
    assert result.history[:, "lr"][:: result.history.steps_per_epoch].tolist() == rates
    assert rates[-1] < rates[0]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"patience": 2}, "patience = 2: there is no validation part to watch"),
        ({"patience": 2, "watch": "validation_los", "data.validation": 0.2}, "Did you mean"),
        ({"patience": 2, "watch": "test_loss", "data.validation": 0.2}, "watch = 'test_loss'"),
        ({"patience": 2, "watch": "validation accuracy"}, "is no metric"),
        ({"patience": -1}, "patience = -1"),
        ({"least_gain": -0.1}, r"least_gain = -0\.1"),
    ],
)
def test_what_cannot_be_watched_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ls.train(small("airfoil", **fields))


def test_the_hash_of_older_runs_stays() -> None:
    spec = ls.recipes.airfoil_linear()
    changed = spec.with_fields({"data.validation": 0.1, "patience": 5})
    assert changed.with_fields({"data.validation": 0.0, "patience": 0}).hash == spec.hash
    assert changed.hash != replace(changed, patience=6).hash
