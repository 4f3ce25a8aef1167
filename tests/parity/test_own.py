"""A person's own arrays and models: labels, shapes and random numbers mean the same everywhere."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lockstep as ls
from lockstep.errors import InputError, LockstepError
from lockstep.frameworks import registry
from lockstep.training.events import RunStarted

from .own_models import DRAWING, MAKERS, pairs, tagger
from .running import assert_fell

TESTED = os.environ.get("LOCKSTEP_TESTED")
HERE = [TESTED] if TESTED else registry.installed()
MODULES = [name for name in HERE if name in MAKERS]
FLOAT64 = 1e-10  # paths in float64, some ten updates: only the order of sums differs

RNG = np.random.default_rng(5)
SYMBOLS = RNG.integers(0, 6, size=(23, 7)).astype(np.int32)
TAGS = ((SYMBOLS * 2 + 1) % 4).astype(np.int64)  # what a symbol's tag is, follows from it
TAGGER = {
    "embedding": RNG.normal(size=(6, 5)),
    "w": 0.3 * RNG.normal(size=(5, 4)),
    "b": np.zeros(4),
}
X = RNG.normal(size=(23, 4))
PAIRS = np.stack([np.sin(X[:, :2]), X[:, 2:] ** 2], axis=1)  # (23, 2, 2)


def tags(model: Any = tagger, y: np.ndarray = TAGS, **changes: Any) -> Any:
    weights = {} if model is not tagger else {"weights": TAGGER}
    given = {"x_test": SYMBOLS[:5], "y_test": TAGS[:5], "loss": "cross_entropy"} | weights | changes
    return ls.own(model, SYMBOLS, y, **given)


def expected_tags(w: dict[str, np.ndarray], x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Mean loss and accuracy, label by label."""
    losses, right = [], []
    for row, labels in zip(x, y, strict=True):
        for symbol, label in zip(row, labels, strict=True):
            scores = np.tanh(w["embedding"][symbol]) @ w["w"] + w["b"]
            losses.append(np.log(np.exp(scores).sum()) - scores[label])
            right.append(scores.argmax() == label)
    return float(np.mean(losses)), float(np.mean(right))


FIELDS: dict[str, Any] = {
    "lr": 0.5, "batch_size": 6, "epochs": 3, "precision": "float64", "evaluate": ("train", "test"),
}  # fmt: skip


@pytest.fixture(scope="module")
def oracle_of_tags() -> Any:
    return ls.train(tags().run(**FIELDS), tags())


@pytest.mark.parametrize("framework", HERE)
def test_labels_of_sequences(framework: str, oracle_of_tags: Any) -> None:
    """Batches of 6, the last of 5; on one device, and on four with shares of 2, 2, 1 and 1."""
    mine = tags()
    for devices in (1, 4):
        result = ls.train(mine.run(**FIELDS, framework=framework, devices=devices), mine)
        path, oracle = (r.history[:, "loss"] for r in (result, oracle_of_tags))
        assert_fell(oracle, by=0.1)
        np.testing.assert_allclose(path, oracle, rtol=FLOAT64)
        assert result.task.count("train") == 23 * 7
        for prefix, x, y in (("final_train", SYMBOLS, TAGS), ("test", SYMBOLS[:5], TAGS[:5])):
            loss, accuracy = expected_tags(result.weights, x, y)
            # some 160 logarithms of sums of four, in another order
            assert result.metrics[f"{prefix}_loss"] == pytest.approx(loss, rel=1e-12)
            assert result.metrics[f"{prefix}_accuracy"] == pytest.approx(accuracy, abs=1e-15)
    first, _ = expected_tags(TAGGER, *first_batch(mine))
    assert path[0] == pytest.approx(first, rel=1e-12)


def first_batch(mine: Any) -> tuple[np.ndarray, np.ndarray]:
    from lockstep.task import assemble

    rows = assemble(mine.run(**FIELDS), mine).plan.epoch(0)[0][0]
    return SYMBOLS[rows], TAGS[rows]


@pytest.mark.parametrize("framework", HERE)
def test_squared_loss_of_many_axes(framework: str) -> None:
    """The sum over an example's outputs, averaged over examples, in training and evaluation."""
    mine = ls.own(pairs, X, PAIRS, weights={"w": np.zeros((4, 4))})
    fields = FIELDS | {"evaluate": ("train",), "lr": 0.1, "batch_size": 23}
    # processes take long to start, and share what the test above has shown
    for devices in (1,) if registry.devices_are_processes(framework) else (1, 4):
        result = ls.train(mine.run(**fields, framework=framework, devices=devices), mine)
        # a sum of 92 squares in another order
        start = (PAIRS**2).sum() / 2 / 23
        assert result.history[0, "loss"] == pytest.approx(start, rel=1e-12)
        error = X @ result.weights["w"] - PAIRS.reshape(23, 4)
        expected = (error**2).sum() / 2 / 23
        assert result.metrics["final_train_loss"] == pytest.approx(expected, rel=1e-12)
        assert result.metrics["final_train_loss"] < 0.9 * start


def tagging_module(framework: str) -> Any:
    """A framework's own module in float64; Keras alone settles that when a module is made."""
    if framework != "tensorflow":
        return MAKERS[framework]("tagger")
    from tensorflow import keras

    keras.config.set_dtype_policy("float64")
    module = MAKERS[framework]("tagger")
    keras.config.set_dtype_policy("float32")
    return module


@pytest.mark.parametrize("framework", MODULES)
def test_a_module_on_labels_of_sequences(framework: str) -> None:
    """It walks the path of the same function over Ops, from the weights that it brings."""
    mine, start = tags(tagging_module(framework)), {}

    def note(event: Any, training: Any) -> None:
        if isinstance(event, RunStarted):
            start.update(training.program.dump(training.state).weights)

    result = ls.train(mine.run(**FIELDS, framework=framework), mine, callbacks=[note])
    shaped = {value.shape: value for value in start.values()}
    w = shaped[5, 4] if (5, 4) in shaped else shaped[4, 5].T
    weights = {"embedding": shaped[6, 5], "w": w, "b": shaped[4,]}
    same = tags(weights=weights)
    oracle = ls.train(same.run(**FIELDS), same)
    np.testing.assert_allclose(result.history[:, "loss"], oracle.history[:, "loss"], rtol=FLOAT64)
    assert_fell(oracle.history[:, "loss"], by=0.05)
    for name, value in oracle.metrics.items():
        assert result.metrics[name] == pytest.approx(value, rel=FLOAT64), name


# --- refused before the first step, with the same words -------------------------------------------


def flat_scores(ops: Any, w: Any, x: Any) -> Any:
    return ops.mean(tagger(ops, w, x), axis=1)  # (N, C)


def classes_first(ops: Any, w: Any, x: Any) -> Any:
    return ops.transpose(tagger(ops, w, x), (0, 2, 1))  # (N, C, T)


def summed(ops: Any, w: Any, x: Any) -> Any:
    return ops.sum(tagger(ops, w, x), axis=0, keepdims=True)


def two_outputs(ops: Any, w: Any, x: Any) -> Any:
    return tagger(ops, w, x), x


def mistaken(ops: Any, w: Any, x: Any) -> Any:
    return x @ w["nothing"]


ONE_HOT = np.eye(4, dtype=int)[TAGS[:, 0]]  # (N, C)
REFUSED: list[tuple[Any, np.ndarray, str]] = [
    (tagger, TAGS + 1, r"y = 4: is no class of a model with 4 scores\. Give labels from 0 to 3"),
    (flat_scores, TAGS, r"model = '\(N, 4\)': gives no scores for labels y of shape \(N, 7\)\. "),
    (classes_first, TAGS, r"Return \(N, 7, C\): the classes on the last axis"),
    (flat_scores, ONE_HOT, r"If y is one-hot, give labels: y\.argmax\(axis=-1\)"),
    (flat_scores, TAGS[:, :1], r"Give y without its last axis: y\[\.\.\., 0\]"),
    (summed, TAGS, r"gives 1 outputs for 2 examples"),
    (two_outputs, TAGS, r"model = 'tuple': .*outputs are one array"),
    (mistaken, TAGS, r"model = 'mistaken': fails .*KeyError: 'nothing' \(.*test_own\.py, line \d+"),
]


@pytest.mark.parametrize(
    ("net", "y", "message"), REFUSED, ids=[f"{i}-{n.__name__}" for i, (n, *_) in enumerate(REFUSED)]
)
def test_what_does_not_fit_is_refused(net: Any, y: np.ndarray, message: str) -> None:
    mine = ls.own(net, SYMBOLS, y, weights=TAGGER, loss="cross_entropy")
    texts = set()
    for framework in HERE:
        with pytest.raises(InputError, match=message) as caught:
            ls.train(mine.run(framework=framework, batch_size=8), mine)
        texts.add(str(caught.value))
    assert len(texts) == 1


def test_labels_of_a_test_are_checked_too() -> None:
    mine = tags(y_test=TAGS[:5] + 3)
    with pytest.raises(InputError, match=r"y_test = 6: is no class of a model with 4 scores"):
        ls.train(mine.run(batch_size=8), mine)


@pytest.mark.parametrize("framework", MODULES)
def test_modules_that_do_not_fit_are_refused(framework: str) -> None:
    make = MAKERS[framework]
    cases: list[tuple[Any, dict[str, Any], str]] = [
        ("tagger", {"y": TAGS + 1}, r"^y = 4: is no class of a model with 4 scores\. Give labels"),
        ("tagger", {"y": TAGS[:, 0]}, r"^model = '\(N, 7, 4\)': gives no scores for labels y of"),
    ]
    for kind, change, message in cases:
        mine = tags(make(kind), x_test=None, y_test=None, **change)
        with pytest.raises(InputError, match=message):
            ls.train(mine.run(framework=framework, batch_size=8), mine)
    mine = ls.own(make("tuple"), X, X[:, :1])
    with pytest.raises(InputError, match=r"^model = '(tuple|list)': .*outputs are one array"):
        ls.train(mine.run(framework=framework, batch_size=8), mine)
    if framework == "jax":
        return  # Flax takes its inputs as they are: any number of features fits
    mine = ls.own(make("noise"), X[:, :3], X[:, :1])
    with pytest.raises(LockstepError, match=r"model = '\w+': fails on examples \(N, 3\): "):
        ls.train(mine.run(framework=framework, batch_size=8), mine)


# --- random numbers of modules, in threads --------------------------------------------------------


@pytest.mark.parametrize("framework", [name for name in MODULES if name in DRAWING])
def test_runs_in_threads_draw_what_they_draw_alone(framework: str) -> None:
    mine = ls.own(MAKERS[framework]("noise"), X, X[:, :1])

    def run(seed: int) -> np.ndarray:
        fields = {"lr": 0.0, "batch_size": 8, "epochs": 20, "framework": framework}
        losses: np.ndarray = ls.train(mine.run(seed=seed, **fields), mine).history[:, "loss"]
        return losses

    alone = [run(seed) for seed in (1, 2)]
    assert len(set(alone[0])) == len(alone[0])  # it draws
    together: dict[int, np.ndarray] = {}
    begin = threading.Barrier(2)

    def both(seed: int) -> None:
        begin.wait()
        together[seed] = run(seed)

    threads = [threading.Thread(target=both, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed, path in zip((1, 2), alone, strict=True):
        np.testing.assert_array_equal(together[seed], path)


# --- what a module is -----------------------------------------------------------------------------


@pytest.mark.parametrize("framework", MODULES)
def test_another_module_is_another_run(framework: str, tmp_path: Path) -> None:
    make = MAKERS[framework]

    def mine(*settings: Any) -> Any:
        return ls.own(make("noise", *settings), X, X[:, :1])

    names = [("ReLU", 0.5), ("Tanh", 0.5)] + [("ReLU", 0.1)] * (framework in DRAWING)
    specs = [mine(*settings).run(framework=framework, batch_size=8) for settings in names]
    assert len({spec.hash for spec in specs}) == len(names)
    again = [mine(*settings).run(framework=framework, batch_size=8) for settings in names]
    assert [s.model.structure for s in again] == [s.model.structure for s in specs]
    ls.train(specs[0], mine(*names[0]), out=tmp_path / "run")
    for other in names[1:]:
        with pytest.raises(InputError, match=r"is of another model than.*there, .*here"):
            ls.resume(tmp_path / "run", mine(*other))
    assert ls.resume(tmp_path / "run", mine(*names[0])).status == "completed"


@pytest.mark.parametrize("framework", HERE)
def test_a_gradient_that_failed_leaves_nothing_behind(framework: str) -> None:
    """MindSpore would go on recording, and fail in the next run of the process."""
    ops = registry.get(framework).ops("float64")

    def failing(weights: Any) -> Any:
        raise ZeroDivisionError("of the person's own")

    with pytest.raises(ZeroDivisionError):
        ops.value_and_grad(failing)({"w": ops.asarray(np.ones(3))})
    mine = tags()
    assert ls.train(mine.run(**FIELDS, framework=framework), mine).status == "completed"
