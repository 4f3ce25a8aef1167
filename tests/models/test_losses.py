"""Losses against the formula written out, one example at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lockstep.errors import InputError
from lockstep.frameworks.numpy.ops import NumpyOps
from lockstep.models.losses import LOSSES, are_correct, cross_entropy, squared

OPS = NumpyOps("float64")


def test_squared_is_half_the_square_summed_over_outputs() -> None:
    outputs = np.array([[1.0, 2.0], [0.5, -1.0]])
    y = np.array([[0.0, 4.0], [0.5, -1.0]])
    assert squared(OPS, outputs, y).tolist() == [(1 + 4) / 2, 0.0]


def test_squared_refuses_shapes_that_would_broadcast() -> None:
    with pytest.raises(InputError, match=r"\(4, 3\) against \(4, 1\).*differ in shape"):
        squared(OPS, np.zeros((4, 3)), np.zeros((4, 1)))


@pytest.mark.parametrize("shape", [(6,), (3, 2)])
def test_cross_entropy_is_minus_log_of_the_share(shape: tuple[int, ...]) -> None:
    """For images (B, C) and for texts (T, B, C); one loss for each label."""
    draw = np.random.default_rng(0)
    scores, labels = draw.normal(size=(*shape, 5)), draw.integers(0, 5, size=shape)
    flat = scores.reshape(-1, 5)
    expected = [
        -math.log(math.exp(row[label]) / sum(math.exp(s) for s in row))
        for row, label in zip(flat, labels.reshape(-1), strict=True)
    ]
    # exp, a sum of five and log: a few roundings
    np.testing.assert_allclose(cross_entropy(OPS, scores, labels), expected, rtol=1e-14)


def test_cross_entropy_of_large_scores_is_finite() -> None:
    scores = np.array([[1000.0, 0.0], [-1000.0, 0.0]])
    assert cross_entropy(OPS, scores, np.array([1, 0])).tolist() == [1000.0, 1000.0]


def test_the_first_of_the_largest_is_the_answer() -> None:
    scores = np.array([[1.0, 2.0, 0.0], [3.0, 3.0, 1.0], [0.0, 0.0, 1.0]])
    assert are_correct(OPS, scores, np.array([1, 0, 0])).tolist() == [1.0, 1.0, 0.0]
    assert are_correct(OPS, scores, np.array([0, 1, 0])).tolist() == [0.0, 0.0, 0.0]


def test_the_names_a_spec_may_use() -> None:
    from lockstep.spec.data_parts import LOSSES as NAMES

    assert tuple(LOSSES) == NAMES
