"""Initial weights: drawn once by NumPy, one named stream each, with the chapters' spreads."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lockstep import models
from lockstep.data.random import generator
from lockstep.errors import InputError
from lockstep.models.model import draw_weights
from lockstep.spec import GRU, MLP, RNN, LeNet, Linear, Softmax

IMAGE = (28, 28)

# first entries at seed 0; another value means that every run starts elsewhere: only on purpose
PINNED = {
    "linear w": (
        models.build(Linear(), (5,), 1),
        "w",
        [0.012947689572983194, 0.004868123489558827, -0.0019387314899712885],
    ),
    "mlp w1": (
        models.build(MLP(), IMAGE, 10),
        "w1",
        [-0.018227060212424713, 0.04870201220924972, -0.00719759485069682],
    ),
    "lenet conv2_w": (
        models.build(LeNet(), IMAGE, 10),
        "conv2_w",
        [-0.09935830157071532, -0.10087661773950314, 0.004569596715802621],
    ),
    "lenet avg fc2_w": (
        models.build(LeNet("avg"), IMAGE, 10),
        "fc2_w",
        [-0.008443378058515525, -0.0007431675577385159, -0.014682703400440146],
    ),
    "gru w_h": (
        models.build(GRU(), (), 28),
        "w_h",
        [0.01079943189357385, 0.010417915232271643, 0.023525512561915894],
    ),
    "rnn w_out": (
        models.build(RNN(), (), 28),
        "w_out",
        [-0.020444442173239673, 0.0007832075834534212, -0.012886654478826119],
    ),
}


@pytest.mark.parametrize("case", PINNED)
def test_pinned(case: str) -> None:
    model, name, expected = PINNED[case]
    drawn = model.initial_weights(0)[name]
    assert drawn.dtype == np.float64
    assert drawn.ravel()[:3].tolist() == expected


@pytest.mark.parametrize(
    "model",
    [
        models.build(Softmax(), IMAGE, 10),
        models.build(LeNet("avg"), IMAGE, 10),
        models.build(RNN(64), (), 28),
        models.build(GRU(64, "after"), (), 28),
    ],
)
def test_normal_weights_have_deviation_a_hundredth(model: models.Model) -> None:
    for name, value in model.initial_weights(3).items():
        if value.ndim == 1:
            assert not value.any()
            continue
        # mean and deviation of n normal draws: within 5 standard errors of 0 and 0.01
        assert abs(value.mean()) < 5 * 0.01 / math.sqrt(value.size), name
        assert abs(value.std() / 0.01 - 1) < 5 / math.sqrt(2 * value.size), name


@pytest.mark.parametrize(
    ("model", "fans"),
    [
        (models.build(MLP((30, 20)), (5,), 2), {"w1": 35, "w2": 50, "w3": 22}),
        (
            models.build(LeNet("max"), IMAGE, 10),
            {"conv1_w": 7 * 25, "conv2_w": 22 * 25, "fc1_w": 520, "fc2_w": 204, "fc3_w": 94},
        ),
    ],
)
def test_xavier_weights_fill_their_bounds(model: models.Model, fans: dict[str, int]) -> None:
    drawn = model.initial_weights(5)
    assert {name for name, value in drawn.items() if value.ndim > 1} == set(fans)
    for name, value in drawn.items():
        if value.ndim == 1:
            assert not value.any()
            continue
        limit = math.sqrt(6 / fans[name])
        # the largest of n uniform draws misses its bound by more than 20 / n once in e^20
        assert limit * (1 - 20 / value.size) < abs(value).max() <= limit, name
        assert abs(value.var() / (limit**2 / 3) - 1) < 5 / math.sqrt(value.size), name


def test_each_weight_has_its_own_stream() -> None:
    drawn = models.build(RNN(8), (), 28).initial_weights(7)
    for name in ("w_x", "w_h", "w_out"):
        stream = generator(7, f"initial weights {name}")
        np.testing.assert_array_equal(drawn[name], 0.01 * stream.standard_normal(drawn[name].shape))
    # a second bias changes no other weight
    before, after = (
        models.build(GRU(8, r), (), 28).initial_weights(7) for r in ("before", "after")
    )
    assert set(after) - set(before) == {"b_h"}
    for name, value in before.items():
        np.testing.assert_array_equal(value, after[name])


def test_seeds_matter_and_repeat() -> None:
    model = models.build(Linear(), (5,), 1)
    one, again, other = (model.initial_weights(seed)["w"] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


def test_weights_too_large_for_the_memory_are_named() -> None:
    def full(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        raise MemoryError

    with pytest.raises(InputError, match=r"weight w_h.*\(3, 4\).*memory.*smaller"):
        draw_weights({"w_h": (3, 4)}, full, 0)
