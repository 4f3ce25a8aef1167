"""How examples (or the elements of a buffer) are divided over devices. Pure arithmetic: nothing
here knows what a device is."""

from __future__ import annotations

from itertools import accumulate, pairwise

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


def check_num_devices(num_devices: int) -> None:
    """Raise unless there is at least one device."""
    if num_devices < 1:
        raise InputError("devices", num_devices, "is not a number of devices", "Give 1 or more.")
