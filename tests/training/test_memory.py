"""How far back a model remembers: answers by step, and gradients against finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lockstep as ls
from lockstep.errors import InputError
from lockstep.frameworks.numpy.ops import NumpyOps
from lockstep.task import Task, assemble
from lockstep.training.memory import accuracy_by_step, gradient_by_distance

OPS = NumpyOps("float64")
HIDDENS = 4
MODELS: dict[str, dict[str, Any]] = {
    "rnn": {"model": "rnn"},
    "gru before": {"model": "gru"},
    "gru after": {"model": "gru", "model.reset": "after"},
    "update": {"model": "one-gate"},
    "reset": {"model": "one-gate", "model.gate": "reset"},
}


def made(model: str) -> tuple[Task, dict[str, np.ndarray]]:
    """A task of short sequences, and weights with which the hidden states matter."""
    fields = {"data.num_symbols": 3, "data.window": 5, "data.num_sequences": 64}
    spec = ls.recipes.recall_gru(**fields).with_fields(MODELS[model])
    task = assemble(spec.with_fields({"model.num_hiddens": HIDDENS}))
    chance = np.random.default_rng(1)
    start = task.model.initial_weights(0)
    return task, {n: chance.normal(size=w.shape) for n, w in start.items()}


def last_loss(task: Task, w: Any, x: np.ndarray, label: int, h: np.ndarray) -> float:
    """The cross-entropy of the last step of one sequence x (d,) from a hidden state."""
    if len(x):
        scores, _ = task.model.apply(OPS, w, x[:, None], {"h": h[None]})
        row = scores[-1, 0]
    else:
        row = h @ w["w_out"] + w["b_out"]
    return float(np.log(np.exp(row).sum()) - row[label])


@pytest.mark.parametrize("model", MODELS)
def test_gradients_are_finite_differences(model: str) -> None:
    """Of two sequences, each distance by running the model over the last d steps."""
    task, w = made(model)
    test = {name: value[:2] for name, value in task.splits["test"].items()}
    task = Task(**{**vars(task), "splits": {"test": test}})
    found = gradient_by_distance(task, w)
    assert found.shape == (5,)
    for d in range(5):
        norms = []
        for x, y in zip(test["x"], test["y"], strict=True):
            start = np.zeros((1, HIDDENS))
            _, carry = task.model.apply(OPS, w, x[: 5 - d, None], {"h": start})
            slopes = []
            for at in range(HIDDENS):
                ends = []
                for sign in (1, -1):
                    moved = carry["h"][0].copy()
                    moved[at] += sign * 1e-5
                    ends.append(last_loss(task, w, x[5 - d :], int(y[-1]), moved))
                slopes.append((ends[0] - ends[1]) / 2e-5)
            norms.append(np.linalg.norm(slopes))
        # central differences: 1e-10 of curvature, 1e-16 / 1e-5 of rounding
        assert found[d] == pytest.approx(np.mean(norms), rel=1e-6, abs=1e-9)
        assert found[d] > 1e-4


@pytest.mark.parametrize("model", ["rnn", "gru before", "update"])
def test_accuracy_by_step_is_counted_over_every_sequence(model: str) -> None:
    task, w = made(model)
    w["b_out"][3:] -= 20  # answers are cues
    x, y = task.splits["test"]["x"], task.splits["test"]["y"]
    scores, _ = task.model.apply(OPS, w, x.T, {"h": np.zeros((len(x), HIDDENS))})
    expected = (scores.argmax(axis=-1) == y.T).mean(axis=1)
    # a mean of 1,000 ones and zeros
    np.testing.assert_allclose(accuracy_by_step(task, w), expected, rtol=1e-12)
    assert 0 < expected.mean() < 1


def test_a_text_has_accuracies_too() -> None:
    spec = ls.recipes.timemachine_gru(max_steps=1).with_fields(
        {"data.source": "generated", "data.max_tokens": 300, "data.window": 7, "batch_size": 4}
    )
    task = assemble(spec)
    found = accuracy_by_step(task, task.model.initial_weights(0), "train")
    assert found.shape == (7,)
    tokens = task.splits["train"]["tokens"]
    assert found.max() < 0.5 < len(tokens)


def test_a_gru_learns_what_an_rnn_forgets() -> None:
    """The recipe with fewer steps between cue and end, in NumPy: a few seconds."""
    fields = {"data.window": 12, "data.num_symbols": 4, "epochs": 2, "framework": "numpy"}
    spec = ls.recipes.recall_gru(**fields)
    gru = ls.train(spec.with_fields({"model.num_hiddens": 32}))
    by_step = accuracy_by_step(gru.task, gru.weights)
    assert by_step.min() > 0.95
    assert by_step.mean() == pytest.approx(gru.metrics["test_accuracy"], rel=1e-3)  # in float32


def test_what_has_no_memory_is_refused() -> None:
    task = assemble(ls.recipes.airfoil_linear())
    with pytest.raises(InputError, match=r"has no hidden state\. Use rnn, gru or one-gate"):
        accuracy_by_step(task, task.model.initial_weights(0), "train")
    task, w = made("rnn")
    with pytest.raises(InputError, match="split = 'other'"):
        gradient_by_distance(task, w, "other")
