"""Splitting loses no example and is even."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep.errors import InputError
from lockstep.processes.splitting import shard_sizes, shard_slices

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


@pytest.mark.parametrize(("n", "k"), [(4, 0), (4, -1), (-1, 2)])
def test_what_cannot_be_split(n: int, k: int) -> None:
    with pytest.raises(InputError, match=r"Give (1|0) or more"):
        shard_sizes(n, k)
