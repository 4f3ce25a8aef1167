"""When gradients are complete, with a clock that tells by itself what it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import numpy as np
import pytest

from lockstep.errors import InputError
from lockstep.experiments.scaling.backward import measure_backward
from lockstep.frameworks.numpy.ops import NumpyOps
from lockstep.models.lenet import lenet
from lockstep.models.losses import cross_entropy
from lockstep.models.recurrent import RecurrentNet

OPS = NumpyOps("float64")


def ticking() -> Iterator[float]:
    return (float(number) for number in count())


def test_shares_by_hand() -> None:
    """x a b: the product with b first, its parts to (x a) and to b, then that of a. The clock moves
    by one whenever it is asked: at the start (0), after each part, at the end."""
    ticks = ticking()
    x = np.ones((1, 2))
    weights = {"unused": np.ones(3), "a": np.ones((2, 2)), "b": np.ones((2, 1))}
    found = measure_backward(
        lambda w: ((x @ w["a"]) @ w["b"])[0, 0], weights, repeats=1, clock=lambda: next(ticks)
    )
    # start 0; parts to the product (1), to x a (2), to b (3), to a (4); the end 5
    assert [tuple(piece) for piece in found] == [("unused", 3, 0.0), ("b", 2, 0.6), ("a", 4, 0.8)]


def test_lenet_completes_its_last_layers_first() -> None:
    model = lenet("max")
    weights = model.initial_weights(0)
    x = np.random.default_rng(0).random((8, 28, 28))
    y = np.arange(8)
    found = measure_backward(
        lambda w: OPS.mean(cross_entropy(OPS, model.apply(OPS, w, x, {})[0], y)), weights
    )
    assert {piece.name: piece.length for piece in found} == {n: w.size for n, w in weights.items()}
    order = [piece.name.partition("_")[0] for piece in found]
    assert list(dict.fromkeys(order)) == ["fc3", "fc2", "fc1", "conv2", "conv1"]
    assert all(0 < piece.ready <= 1 for piece in found)


def test_a_recurrent_weight_is_complete_with_its_first_step() -> None:
    """It is used at every step, so nearly all of the backward pass goes by before it is done."""
    model = RecurrentNet(5, 16, gates=1)
    weights = model.initial_weights(0)
    x = np.arange(60).reshape(20, 3) % 5
    carry = {"h": np.zeros((3, 16))}
    found = measure_backward(
        lambda w: OPS.mean(cross_entropy(OPS, model.apply(OPS, w, x, carry)[0], x)), weights
    )
    ready = {piece.name: piece.ready for piece in found}
    assert ready["w_out"] < 0.4
    assert 0.6 < min(ready["w_h"], ready["w_x"]) < 1


def test_no_repeats() -> None:
    with pytest.raises(InputError, match="repeats = 0: measures nothing"):
        measure_backward(lambda w: w["a"], {"a": np.ones(())}, repeats=0)
