"""Splitting loses no example, is even, and means of shards make the mean of all."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep.errors import InputError
from lockstep.parallel.splitting import combined_mean, shard_sizes, shard_slices, shard_weights

calm = settings(deadline=None)  # a shared machine pauses
examples, devices = st.integers(0, 1000), st.integers(1, 64)


@calm
@given(examples, devices)
def test_sizes_are_even_and_hold_every_example(n: int, k: int) -> None:
    sizes = shard_sizes(n, k)
    assert len(sizes) == k
    assert sum(sizes) == n
    assert max(sizes) - min(sizes) <= 1
    assert list(sizes) == sorted(sizes, reverse=True)


@calm
@given(examples, devices)
def test_slices_are_the_examples_in_order(n: int, k: int) -> None:
    everything = list(range(n))
    shards = [everything[part] for part in shard_slices(n, k)]
    assert [row for shard in shards for row in shard] == everything
    assert tuple(len(shard) for shard in shards) == shard_sizes(n, k)


@calm
@given(st.lists(st.integers(0, 50), min_size=1, max_size=9).filter(any))
def test_weights_are_the_shares(sizes: list[int]) -> None:
    weights = shard_weights(sizes)
    # each weight is one rounding of the exact share
    assert [Fraction(w) for w in weights] == [
        Fraction(float(Fraction(size, sum(sizes)))) for size in sizes
    ]
    assert math.isclose(sum(weights), 1.0, rel_tol=1e-15 * len(sizes))


@calm
@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=60), devices)
def test_means_of_shards_make_the_mean_of_all(values: list[int], k: int) -> None:
    """In exact arithmetic, so equal and not merely close."""
    shards = [values[part] for part in shard_slices(len(values), k)]
    means = [Fraction(sum(s), len(s)) if s else Fraction(10**9) for s in shards]
    found = combined_mean(means, [len(s) for s in shards])
    assert found == Fraction(sum(values), len(values))


def test_the_mean_over_no_examples_does_not_spread() -> None:
    found = combined_mean([np.array([1.0, 2.0]), np.full(2, np.nan)], [3, 0])
    np.testing.assert_array_equal(found, [1.0, 2.0])


@pytest.mark.parametrize(("n", "k"), [(4, 0), (4, -1), (-1, 2)])
def test_what_cannot_be_split(n: int, k: int) -> None:
    with pytest.raises(InputError, match=r"Give (1|0) or more"):
        shard_sizes(n, k)


def test_what_cannot_be_combined() -> None:
    with pytest.raises(InputError, match="one mean for each device"):
        combined_mean([1.0], [1, 2])
    with pytest.raises(InputError, match="hold no example"):
        combined_mean([1.0, 2.0], [0, 0])
