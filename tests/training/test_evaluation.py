"""Metrics are sums and counts divided once; a text is continued from canonical weights."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import lockstep as ls
from lockstep.errors import InputError
from lockstep.training import Result

from .running import PATHS, small


@pytest.mark.parametrize("path", ["numpy", "torch", "torch-concise", "jax", "jax-concise"])
def test_the_mean_of_an_epoch_with_a_smaller_last_batch(path: str) -> None:
    """Each example counts once: batches of 32 six times, then 19."""
    result = ls.train(small("airfoil", path, precision="float64"))
    sizes = np.array([32] * 6 + [19])
    for epoch in result.history.epochs:
        losses = result.history[:, "loss"][7 * epoch.epoch : 7 * epoch.epoch + 7]
        # the same products, summed in the same order in float64: only Python's sum differs
        expected = sum(losses * sizes) / sizes.sum()
        assert epoch.metrics["train_loss"] == pytest.approx(expected, rel=1e-15)
        plain = losses.mean()  # of batches, not of examples: it must not be this
        assert abs(epoch.metrics["train_loss"] / plain - 1) > 1e-6


@pytest.mark.parametrize("path", PATHS)
def test_an_evaluation_of_a_table_meets_every_example_once(path: str) -> None:
    """1,203 examples: one whole batch of an evaluation and a smaller one."""
    fields = {"data.max_examples": 1203, "batch_size": 401, "precision": "float64"}
    result = ls.train(small("airfoil", path, **fields))
    data = result.task.splits["train"]
    error = data["x"] @ result.weights["w"] + result.weights["b"] - data["y"]
    expected = (error**2).sum() / 2 / 1203
    # float64 sums of 1,203 squares in another order
    assert result.metrics["final_train_loss"] == pytest.approx(expected, rel=1e-12)
    assert result.task.count("train") == 1203


@pytest.mark.parametrize("path", ["numpy", "torch-concise", "jax"])
def test_accuracy_counts_every_image_once(path: str) -> None:
    fields = {"evaluate": "train,test", "precision": "float64"}
    result = ls.train(small("softmax", path, **fields))
    for split, prefix in (("train", "final_train"), ("test", "test")):
        data = result.task.splits[split]
        x = data["x"].reshape(len(data["x"]), -1) / 255
        scores = x @ result.weights["w"] + result.weights["b"]
        largest = scores.max(axis=1, keepdims=True)
        logs = scores - largest - np.log(np.exp(scores - largest).sum(axis=1, keepdims=True))
        loss = -logs[np.arange(len(x)), data["y"]].mean()
        # float64, a sum over classes and one over examples in another order
        assert result.metrics[f"{prefix}_loss"] == pytest.approx(loss, rel=1e-11)
        accuracy = (scores.argmax(axis=1) == data["y"]).mean()
        assert result.metrics[f"{prefix}_accuracy"] == accuracy


def test_perplexity_is_that_of_the_mean_loss() -> None:
    result = ls.train(small("gru-after", "torch"))
    for epoch in result.history.epochs:
        for prefix in ("train", "final_train"):
            loss = epoch.metrics[f"{prefix}_loss"]
            assert epoch.metrics[f"{prefix}_perplexity"] == math.exp(loss)
    assert result.metrics["train_perplexity"] < 28  # better than guessing among 28 symbols


def test_evaluating_every_other_epoch_and_at_the_end() -> None:
    spec = replace(small("airfoil"), epochs=5, evaluate_epochs=2)
    result = ls.train(spec)
    measured = ["final_train_loss" in epoch.metrics for epoch in result.history.epochs]
    assert measured == [False, True, False, True, True]
    assert all("train_loss" in epoch.metrics for epoch in result.history.epochs)


# --- continuing a text --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained() -> Result:
    return ls.train(small("gru-before", "torch", "adam", epochs=10))


def test_a_continuation_begins_with_its_prefix_and_is_repeatable(trained: Result) -> None:
    text = trained.generate("time traveller", 12)
    assert text.startswith("time traveller")
    assert text == trained.generate("time traveller", 12)
    symbols = trained.task.vocabulary
    assert symbols is not None
    added = text[len("time traveller") :].replace("<unk>", "?")
    assert len(added) == 12
    assert trained.generate("time traveller", 0) == "time traveller"


def test_a_continuation_is_the_models_own(trained: Result) -> None:
    """Symbol by symbol, by the formula of the GRU in plain NumPy."""
    w, vocabulary = trained.weights, trained.task.vocabulary
    assert vocabulary is not None
    w = {name: value.astype(np.float64) for name, value in w.items()}
    n = w["w_h"].shape[0]

    def sigmoid(a: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-a))

    def step(symbol: int, h: np.ndarray) -> np.ndarray:
        p = w["w_x"][symbol] + w["b"]
        z = sigmoid(p[:n] + h @ w["w_h"][:, :n])
        r = sigmoid(p[n : 2 * n] + h @ w["w_h"][:, n : 2 * n])
        return z * h + (1 - z) * np.tanh(p[2 * n :] + (r * h) @ w["w_h"][:, 2 * n :])

    h, symbols = np.zeros(n), vocabulary.encode("the ").tolist()
    for symbol in symbols:
        h = step(symbol, h)
    for _ in range(10):
        symbols.append(int(np.argmax(h @ w["w_out"] + w["b_out"])))
        h = step(symbols[-1], h)
    assert trained.generate("the ", 10) == vocabulary.decode(symbols)


def test_prefixes_that_cannot_be_continued(trained: Result) -> None:
    with pytest.raises(InputError, match=r"prefix = 'Time 4'.*'4', 'T'"):
        trained.generate("Time 4", 5)
    with pytest.raises(InputError, match=r"prefix = '': is empty"):
        trained.generate("", 5)
    with pytest.raises(InputError, match="num = -1"):
        trained.generate("time", -1)
    with pytest.raises(InputError, match="not of a language model"):
        ls.train(small("airfoil")).generate("time", 5)
