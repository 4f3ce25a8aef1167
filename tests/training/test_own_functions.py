"""A person's own loss, metrics and weights of examples: one path in every framework, on several
devices and resumed, and that of the formula."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lockstep as ls
from lockstep.errors import InputError, RunDirectoryError
from lockstep.ops import Snapshot
from lockstep.task import Own
from lockstep.training import History, Result

from .own_models import absolute, linear, log_cosh
from .running import assert_learned, at_step

FRAMEWORKS = ["numpy", "torch", "jax"]
FLOAT64 = 1e-9  # float64, some twenty updates: only the order of sums differs

RNG = np.random.default_rng(3)
X = RNG.normal(size=(50, 3))
Y = X @ [1.0, -2.0, 0.5] + 0.3
LABELS = (Y > 0).astype(np.int64) + (Y > 1.5)
FACTORS = RNG.uniform(0.1, 3.0, size=40)


def task(**changes: Any) -> Own:
    given: dict[str, Any] = {
        "weights": {"w": np.zeros((3, 1)), "b": np.zeros(1)},
        "loss": log_cosh,
        "metrics": {"mae": absolute},
        "example_weights": FACTORS,
        "x_test": X[40:],
        "y_test": Y[40:],
    }
    return ls.own(linear, X[:40], Y[:40], **(given | changes))


def run_of(mine: Own, **changes: Any) -> ls.RunSpec:
    given: dict[str, Any] = {
        "lr": 0.2, "batch_size": 9, "epochs": 4, "precision": "float64",
        "evaluate": ("train", "test"), "data": {"order": "in_order"},
    }  # fmt: skip
    return mine.run(**(given | changes))


def expected(epochs: int) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Weights and losses of plain gradient descent, by the derivative of log(2 cosh), tanh."""
    factors = FACTORS / FACTORS.mean()
    w, b, losses = np.zeros(3), 0.0, []
    for _ in range(epochs):
        for at in range(0, 40, 9):
            x, y, each = X[at : at + 9][: 40 - at], Y[at : min(at + 9, 40)], factors[at : at + 9]
            gap = x @ w + b - y
            losses.append(float((each * np.log(2 * np.cosh(gap))).sum() / len(y)))
            slope = each * np.tanh(gap) / len(y)
            w, b = w - 0.2 * x.T @ slope, b - 0.2 * slope.sum()
    return w, np.array([b]), losses


@pytest.fixture(scope="module")
def oracle() -> Any:
    mine = task()
    return ls.train(run_of(mine), mine)


def assert_same(result: Any, oracle: Any) -> None:
    for name in ("loss", "grad_norm"):
        np.testing.assert_allclose(
            result.history[:, name], oracle.history[:, name], rtol=FLOAT64, atol=FLOAT64
        )
    for one, two in zip(result.history.epochs, oracle.history.epochs, strict=True):
        assert one.metrics == pytest.approx(two.metrics, rel=FLOAT64, abs=FLOAT64)


def test_the_path_is_that_of_the_formula(oracle: Any) -> None:
    w, b, losses = expected(epochs=4)
    assert_learned(oracle)
    np.testing.assert_allclose(oracle.history[:, "loss"], losses, rtol=1e-12)
    np.testing.assert_allclose(oracle.weights["w"][:, 0], w, rtol=1e-12)
    np.testing.assert_allclose(oracle.weights["b"], b, rtol=1e-12)
    gap = X @ w + b - Y
    loss = np.log(2 * np.cosh(gap))
    assert oracle.metrics["final_train_loss"] == pytest.approx(np.average(loss[:40], None, FACTORS))
    assert oracle.metrics["test_loss"] == pytest.approx(loss[40:].mean())
    # metrics are not weighted
    assert oracle.metrics["final_train_mae"] == pytest.approx(np.abs(gap[:40]).mean())
    assert oracle.metrics["test_mae"] == pytest.approx(np.abs(gap[40:]).mean())
    assert "test_accuracy" not in oracle.metrics


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_framework_and_several_devices(framework: str, oracle: Any, tmp_path: Path) -> None:
    """Batches of 9 and 4: on three devices, shares of 3, 3, 3 and of 2, 1, 1."""
    mine = task()
    for devices in (1, 3):
        spec = run_of(mine, framework=framework, devices=devices)
        assert_same(ls.train(spec, mine, out=tmp_path / str(devices)), oracle)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_resumed_in_mid_epoch(framework: str, oracle: Any, tmp_path: Path) -> None:
    """Stopped at step 7 of 20, taken up by another framework, its functions found by reference."""
    mine, folder = task(), tmp_path / "run"
    spec = run_of(mine, checkpoint_steps=7)
    ls.train(spec, mine, out=folder, callbacks=[at_step(7)])
    result = ls.resume(folder, spec=replace(spec, framework=framework))
    assert_same(result, oracle)


def _scores(ops: Any, w: Any, x: Any) -> Any:
    return x @ w["w"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("classes", [[1.0, 2.0, 0.5], {1: 2.0, 2: 0.5}])
def test_weights_of_classes(framework: str, classes: Any) -> None:
    """The same as weights of examples that say it of each, and a mean with these weights."""
    weights = {"w": np.zeros((3, 3))}
    given: dict[str, Any] = {"weights": weights, "loss": "cross_entropy"}
    by_class = ls.own(_scores, X, LABELS, class_weights=classes, **given)
    each = np.array([1.0, 2.0, 0.5])[LABELS]
    by_example = ls.own(_scores, X, LABELS, example_weights=5 * each, **given)  # only ratios matter
    one, two = (
        ls.train(run_of(mine, framework=framework, evaluate=("train",)), mine)
        for mine in (by_class, by_example)
    )
    np.testing.assert_allclose(one.history[:, "loss"], two.history[:, "loss"], rtol=FLOAT64)
    assert_learned(one)
    scores = X @ one.weights["w"]
    losses = np.log(np.exp(scores).sum(1)) - scores[np.arange(50), LABELS]
    assert one.metrics["final_train_loss"] == pytest.approx(np.average(losses, None, each))
    assert one.metrics["final_train_accuracy"] == (scores.argmax(1) == LABELS).mean()


def test_labels_of_sequences_have_weights_of_their_own() -> None:
    labels = np.stack([LABELS, 2 - LABELS], axis=1)  # (50, 2)
    weights = {"w": RNG.normal(size=(3, 6))}

    def net(ops: Any, w: Any, x: Any) -> Any:
        return ops.reshape(x @ w["w"], (x.shape[0], 2, 3))

    mine = ls.own(
        net, X, labels, weights=weights, loss="cross_entropy", class_weights=[1.0, 4.0, 2.0],
        example_weights=np.arange(50.0),
    )  # fmt: skip
    result = ls.train(run_of(mine, batch_size=50, epochs=1, evaluate=("train",)), mine)
    scores = (X @ weights["w"]).reshape(50, 2, 3)
    losses = (
        np.log(np.exp(scores).sum(-1)) - np.take_along_axis(scores, labels[..., None], 2)[..., 0]
    )
    factors = np.array([1.0, 4.0, 2.0])[labels] * np.arange(50.0)[:, None]
    assert result.history[0, "loss"] == pytest.approx(np.average(losses, None, factors))


def test_an_own_module_has_own_functions(oracle: Any) -> None:
    torch = pytest.importorskip("torch")
    module = torch.nn.Linear(3, 1)
    torch.nn.init.zeros_(module.weight)
    torch.nn.init.zeros_(module.bias)
    mine = ls.own(
        module, X[:40], Y[:40], loss=log_cosh, metrics={"mae": absolute}, example_weights=FACTORS,
        x_test=X[40:], y_test=Y[40:],
    )  # fmt: skip
    assert_same(ls.train(run_of(mine, framework="torch"), mine), oracle)


def test_another_loss_is_another_run(tmp_path: Path) -> None:
    mine = task()
    hashes = {run_of(task(**c)).hash for c in ({}, {"loss": absolute}, {"metrics": {}})}
    assert len(hashes) == 3
    spec = run_of(mine)
    ls.train(spec, mine, out=tmp_path / "run", callbacks=[at_step(5)])
    with pytest.raises(InputError, match="another model"):
        ls.resume(tmp_path / "run", task(loss=absolute))


def test_a_function_without_a_file_is_asked_for(tmp_path: Path) -> None:
    mine = task(metrics={"bias": lambda ops, outputs, y: ops.sum(outputs - y, axis=1)})
    ls.train(run_of(mine), mine, out=tmp_path / "a", callbacks=[at_step(5)])
    with pytest.raises(RunDirectoryError, match="own bias has no file"):
        ls.resume(tmp_path / "a")
    assert ls.resume(tmp_path / "a", mine).status == "completed"


def _whole(ops: Any, outputs: Any, y: Any) -> Any:
    return ops.mean(ops.abs(outputs - y))


def _failing(ops: Any, outputs: Any, y: Any) -> Any:
    return {}["a"]


def _of_numpy(ops: Any, outputs: Any, y: Any) -> Any:
    return np.ones(len(y))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metrics": {"m": _of_numpy}}, "metrics.m = 'ndarray': is no array of Ops"),
        ({"metrics": {"m": lambda ops, outputs, y: None}}, "'NoneType': is no array of Ops"),
        ({"metrics": [absolute]}, "metrics = 'list': are not functions by name"),
        ({"metrics": absolute}, "metrics = 'function': are not functions by name"),
        ({"loss": _whole}, r"loss = \(\): is not one number for each of 2 examples"),
        ({"metrics": {"m": _failing}}, "metrics.m = '_failing': fails on outputs"),
        ({"metrics": {"accuracy": absolute}}, "is a name that a run uses"),
        ({"metrics": {"mean error": absolute}}, "is no name"),
        ({"loss": 3}, "loss = 3: is no function"),
        ({"loss": "absolute"}, "Known: cross_entropy, squared"),
        ({"example_weights": [1.0, 2.0]}, "is not one weight for each of 40 examples"),
        ({"example_weights": -FACTORS}, "not a finite number from 0 on"),
        ({"example_weights": 0 * FACTORS}, "no training example has a weight above 0"),
        ({"example_weights": ["a"] * 40}, "holds no numbers"),
        ({"class_weights": [1.0]}, "are for labels"),
    ],
)
def test_what_cannot_be_used_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        _train(changes)


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ({7: 2.0}, "class_weights = 7: is the label of no example"),
        ({"a": 2.0}, "class_weights = 'a': is no label"),
        ({0: [1.0, 2.0]}, "is not one number for each class"),
        ([1.0, 2.0], "class_weights = 2: are fewer than the classes, for there is a label 2"),
        ([[1.0, 2.0, 3.0]], "is not one number for each class"),
        (2.0, "is not one number for each class"),
        ([1.0, -2.0, 3.0], "not a finite number from 0 on"),
        ([0, 0, 0], "no training example has a weight above 0"),
        ({0: 1.0, 1: 0.0, 2: 0.0}, "no test example has a weight above 0"),
    ],
)
def test_weights_of_classes_that_cannot_be_used_are_refused(classes: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        _train_on_classes(classes)


def _train_on_classes(classes: Any) -> None:
    given: dict[str, Any] = {"weights": {"w": np.zeros((3, 3))}, "loss": "cross_entropy"}
    test = {"x_test": X[LABELS > 0], "y_test": LABELS[LABELS > 0]}
    mine = ls.own(_scores, X, LABELS, class_weights=classes, **given, **test)
    ls.train(run_of(mine, max_steps=1), mine)


def test_more_classes_may_have_weights_than_examples_show() -> None:
    """A model may have scores of classes that the arrays lack."""
    given: dict[str, Any] = {"weights": {"w": np.zeros((3, 4))}, "loss": "cross_entropy"}
    three, four = (
        ls.own(_scores, X, LABELS, class_weights=classes, **given)
        for classes in ([1.0, 2.0, 0.5], [1.0, 2.0, 0.5, 9.0])
    )
    assert three.digest == four.digest


def _train(changes: dict[str, Any]) -> None:
    mine = task(**changes)
    ls.train(run_of(mine), mine)


def test_an_own_metric_in_no_file_is_given_again_with_the_task() -> None:
    for metric, said in ((absolute, "ls.resume('a')"), (lambda *a: a[1], "ls.resume('a', mine)")):
        spec = run_of(task(metrics={"mae": metric}))
        result = Result(spec, lambda: None, History(), Snapshot({}), "interrupted", Path("a"))
        assert result.how_to_continue == f"continue it with: {said}"
