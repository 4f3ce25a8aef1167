"""How examples (or the elements of a buffer) are divided over devices, and how what each device
found is put together again. Pure arithmetic: nothing here knows what a device is."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from lockstep.errors import InputError


def shard_sizes(num_examples: int, num_devices: int) -> tuple[int, ...]:
    """n examples over k devices: sizes that differ by at most one, the larger ones first.

    Device i has floor(n/k) examples, and one more if i < n mod k. With more devices than examples
    the last ones have none.

    >>> shard_sizes(10, 4), shard_sizes(2, 3), shard_sizes(0, 2)
    ((3, 3, 2, 2), (1, 1, 0), (0, 0))
    """
    check_num_devices(num_devices)
    if num_examples < 0:
        raise InputError("num_examples", num_examples, "is negative", "Give 0 or more.")
    size, larger = divmod(num_examples, num_devices)
    return (size + 1,) * larger + (size,) * (num_devices - larger)


def shard_slices(num_examples: int, num_devices: int) -> tuple[slice, ...]:
    """Each device's examples, in order and without gaps.

    >>> ["abcdefg"[part] for part in shard_slices(7, 3)]
    ['abc', 'de', 'fg']
    """
    bounds = accumulate(shard_sizes(num_examples, num_devices), initial=0)
    return tuple(slice(start, stop) for start, stop in pairwise(bounds))


def shard_weights(sizes: Sequence[int]) -> tuple[float, ...]:
    """n_i / n: what the mean over each shard counts for in the mean over all examples.

    >>> shard_weights([3, 1, 0])
    (0.75, 0.25, 0.0)
    """
    total = sum(sizes)
    return tuple(size / total if total else 0.0 for size in sizes)


def combined_mean(means: Sequence[Any], sizes: Sequence[int]) -> Any:
    """sum_i n_i mean_i / n: the mean over all examples, summed in the order of the devices.

    The mean over no examples is not a number and must not reach the sum, so empty shards are left
    out rather than multiplied by 0.

    >>> combined_mean([2.0, 6.0, float("nan")], [3, 1, 0])
    3.0
    """
    if len(means) != len(sizes):
        problem = f"does not go with {len(sizes)} sizes"
        raise InputError("means", len(means), problem, "Give one mean for each device.")
    parts = [size * mean for size, mean in zip(sizes, means, strict=True) if size]
    if not parts:
        raise InputError("sizes", list(sizes), "hold no example", "Give at least one.")
    return sum(parts[1:], start=parts[0]) / sum(sizes)


def check_num_devices(num_devices: int) -> None:
    """Raise unless there is at least one device."""
    if num_devices < 1:
        raise InputError("devices", num_devices, "is not a number of devices", "Give 1 or more.")
