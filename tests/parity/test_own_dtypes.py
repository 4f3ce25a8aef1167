"""A person's net on bytes, with indices, axes and whole numbers as one writes them in NumPy: the
same path in every framework."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import lockstep as ls
from lockstep.errors import InputError
from lockstep.task import Own

from .running import OTHERS, assert_fell, assert_same_path

RNG = np.random.default_rng(3)
X = RNG.integers(0, 256, (64, 4, 6)).astype(np.uint8)
Y = X[:, 1, 2] / 100.0 - X[:, 0, 5] / 200.0
WEIGHTS = {"w": 0.1 * RNG.normal(size=(24, 8)), "table": 0.1 * RNG.normal(size=(6, 8))} | {
    "v": 0.1 * RNG.normal(size=8)
}


def net(ops: Any, w: Any, x: Any) -> Any:
    centred = (x - 128.0) / 64  # (B, 4, 6)
    turned = centred[:, ::-1] + x / 255 - ops.mean(x, axis=-1, keepdims=True) / 255
    largest = ops.max(centred, axis=-2, keepdims=True)
    brightest = ops.argmax(x[:, 0])  # (B,)
    bright = (x[:, 0, 0] > 100) & ~(x[:, 0, 1] < 30)
    flat = ops.reshape(turned * (x > 30) - 0.1 * largest, (x.shape[0], -1))
    h = ops.tanh(flat @ w["w"] + ops.take(w["table"], brightest - 3) + ops.take(w["table"], -1))
    h = h + (brightest * 0.5 + bright + x[:, 1, 0] % 3 - x[:, 1, 1] // 100)[:, None] * 0.01
    return (h @ w["v"])[:, None]


def own() -> Own:
    return ls.own(net, X, Y, weights=WEIGHTS)


def path(framework: str) -> np.ndarray:
    mine = own()
    spec = mine.run(lr=0.1, batch_size=16, max_steps=20, epochs=5, precision="float64", evaluate=())
    losses: np.ndarray = ls.train(replace(spec, framework=framework), mine).history[:, "loss"]
    return losses


@cache
def oracle() -> np.ndarray:
    return path("numpy")


def test_the_first_loss_is_that_of_plain_numpy() -> None:
    """The same net in float64 and int64, where nothing wraps and nothing is rounded."""
    mine = own()
    spec = mine.run(lr=0.1, batch_size=64, max_steps=1, precision="float64", evaluate=())
    x, w = X.astype(np.int64), WEIGHTS
    centred = (x - 128.0) / 64
    turned = centred[:, ::-1] + x / 255 - x.mean(-1, keepdims=True) / 255
    flat = (turned * (x > 30) - 0.1 * centred.max(-2, keepdims=True)).reshape(64, -1)
    brightest = x[:, 0].argmax(-1)
    bright = (x[:, 0, 0] > 100) & ~(x[:, 0, 1] < 30)
    h = np.tanh(flat @ w["w"] + w["table"][brightest - 3] + w["table"][-1])
    h = h + (brightest * 0.5 + bright + x[:, 1, 0] % 3 - x[:, 1, 1] // 100)[:, None] * 0.01
    expected = ((h @ w["v"] - Y) ** 2).mean() / 2
    # sums of 64 in another order
    assert ls.train(spec, mine).history[0, "loss"] == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("framework", OTHERS)
def test_the_same_path(framework: str) -> None:
    assert_fell(oracle(), 0.3)
    # float64, 20 updates: only the order of sums differs
    assert_same_path(path(framework), oracle(), 1e-12, framework)


@pytest.mark.parametrize("framework", [*OTHERS, "numpy"])
def test_a_number_read_out_of_an_array_is_refused(framework: str) -> None:
    def reads(ops: Any, w: Any, x: Any) -> Any:
        return x @ w["w"] if float(ops.sum(x)) > 0 else x @ w["w"] * 2

    mine = ls.own(reads, X[:, 0], Y, weights={"w": np.zeros((6, 1))})
    with pytest.raises(InputError, match=r"numbers are not known yet.*ops\.where"):
        ls.train(mine.run(max_steps=1, framework=framework), mine)


def test_whole_numbers_of_more_than_32_bits_are_refused() -> None:
    with pytest.raises(InputError, match=r"x = 1099511627776: does not fit into 32 bits.*floats"):
        ls.own(net, np.full((4, 2), 2**40), np.zeros(4), weights=WEIGHTS)
