"""A plan carried out over one buffer per device, in this process: the reference for all others.

Every device owns its buffer, and what it receives is copied or added into that; no two may share
memory. Bytes are counted as they move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from lockstep.errors import InputError
from lockstep.experiments.allreduce.transfers import Arrival, Plan, arrivals

# elements of several parts added at a time, so that what is added to stays in the cache; smaller
# blocks cost threads more in turns of the interpreter than they save (sharded, 64 MB over 4
# devices: 33 ms with 1 << 16, 30 ms with 1 << 18, 37 ms whole)
BLOCK = 1 << 18

Each = Callable[[Callable[[Arrival], int], Iterable[Arrival]], Iterable[int]]


@dataclass(frozen=True)
class Traffic:
    """What was moved, in bytes for each device."""

    sent: tuple[int, ...]
    received: tuple[int, ...]
    num_rounds: int


def execute(plan: Plan, buffers: Sequence[Any], each: Each = map) -> Traffic:
    """Carry out the plan: afterwards every buffer holds the sum of all.

    `buffers`: for each device an array of (length,) that can be sliced, added to and written in
    place (NumPy, PyTorch). `each` may be the `map` of a pool of threads: then devices receive at
    the same time, as they would if each were a processor.

    >>> from lockstep.experiments.allreduce.algorithms import ring
    >>> buffers = [np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0])]
    >>> execute(ring(2, 3), buffers).sent
    (24, 24)
    >>> buffers[0].tolist(), buffers[1].tolist()
    ([11.0, 22.0, 33.0], [11.0, 22.0, 33.0])
    """
    check_buffers(plan, buffers)
    sent, received = [0] * plan.num_devices, [0] * plan.num_devices
    take = partial(receive, buffers=buffers)
    for part in plan.rounds:
        incoming = arrivals(part)
        for arrival, num_bytes in zip(incoming, each(take, incoming), strict=True):
            received[arrival.target] += num_bytes * len(arrival.sources)
            for source in arrival.sources:
                sent[source] += num_bytes
    return Traffic(tuple(sent), tuple(received), plan.num_rounds)


def receive(arrival: Arrival, buffers: Sequence[Any]) -> int:
    """Copy or add what arrives into its target; the bytes that each source sent."""
    part = slice(arrival.start, arrival.stop)
    own = buffers[arrival.target][part]
    parts = [buffers[source][part] for source in arrival.sources]
    if arrival.adds:
        add_in_order(own, parts, arrival.num_below)
    else:
        own[:] = parts[0]
    num_bytes: int = parts[0].nbytes
    return num_bytes


def add_in_order(own: Any, parts: Sequence[Any], num_below: int) -> None:
    """own = parts[0] + ... + own + ..., from left to right, own after the first `num_below`.

    >>> x = np.array([1.0])
    >>> add_in_order(x, [np.array([1e16]), np.array([-1e16])], 2)
    >>> x.item()  # not (1e16 + 1) - 1e16 = 0
    1.0
    """
    if len(parts) == 1:  # in either order the same
        own += parts[0]
        return
    for start in range(0, len(own), BLOCK):
        block = slice(start, start + BLOCK)
        mine, (first, *rest) = own[block], [part[block] for part in parts]
        if num_below:
            total = first + rest[0] if num_below > 1 else first
            for part in rest[1 : num_below - 1]:
                total += part
            mine += total
        for part in [first, *rest][num_below:]:
            mine += part


def check_buffers(plan: Plan, buffers: Sequence[Any]) -> None:
    """Raise unless there is one buffer for each device, all alike, none in another's memory."""
    if len(buffers) != plan.num_devices:
        problem = f"do not go with a plan for {plan.num_devices} devices"
        raise InputError("buffers", len(buffers), problem, "Give one for each device.")
    kinds = {(tuple(buffer.shape), str(buffer.dtype)) for buffer in buffers}
    if len(kinds) != 1 or next(iter(kinds))[0] != (plan.length,):
        problem = f"are not all of shape ({plan.length},) and of one type"
        raise InputError("buffers", sorted(kinds), problem, "Give flat arrays, all alike.")
    for (i, one), (j, other) in combinations(enumerate(buffers), 2):
        if one is other or (isinstance(one, np.ndarray) and np.may_share_memory(one, other)):
            problem = "share their memory"
            raise InputError("buffers", (i, j), problem, "Give each device a copy of its own.")
