"""Timing an allreduce: buffers whose sum is known, fair turns, and devices that are threads.

Other transports time in processes: timing_worker.py, xla.py. Every allreduce gives one message,
{"length", "algorithm", "repeat", "seconds", "sent", "rounds"}; repeat -1 is the warm-up, whose
result is checked.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from lockstep.errors import LockstepError
from lockstep.experiments.allreduce import algorithms
from lockstep.experiments.allreduce.cost import PROBES
from lockstep.experiments.allreduce.local_plans import execute

PATTERN = 251  # values repeat after a prime number: a part in a wrong place is found


def initial_values(rank: int, length: int) -> np.ndarray:
    """A device's buffer: small whole numbers, exact in float32 whatever the order of the sum.

    >>> initial_values(2, 3).tolist()
    [2.0, 3.0, 4.0]
    """
    return (np.arange(length) % PATTERN + rank).astype(np.float32)


def check_sum(buffer: np.ndarray, num_devices: int, algorithm: str) -> None:
    """Raise unless the buffer holds the sum over all devices: k pattern + k (k-1)/2."""
    expected = num_devices * initial_values(0, len(buffer)) + num_devices * (num_devices - 1) / 2
    if not np.array_equal(buffer, expected):
        wrong = int(np.flatnonzero(buffer != expected)[0])
        raise LockstepError(
            f"algorithm = {algorithm!r}: element {wrong} is {buffer[wrong]}, not {expected[wrong]}."
        )


def turns(names: Sequence[str], repeats: int) -> Iterator[tuple[int, str]]:
    """Every algorithm once to warm up (-1), then each once per repeat, beginning with another each
    time: what disturbs the machine disturbs all of them alike.

    >>> list(turns(["a", "b"], 2))
    [(-1, 'a'), (-1, 'b'), (0, 'a'), (0, 'b'), (1, 'b'), (1, 'a')]
    """
    for repeat in range(-1, repeats):
        shift = max(repeat, 0) % max(1, len(names))
        for name in [*names[shift:], *names[:shift]]:
            yield repeat, name


def time_threads(
    num_devices: int, jobs: Sequence[tuple[int, list[str]]], repeats: int
) -> Iterator[dict[str, Any]]:
    """Every algorithm on every length, timed in this process: each device is a thread that receives
    by itself, for NumPy lets threads add and copy at the same time."""
    with ThreadPoolExecutor(num_devices) as pool:
        for length, names in jobs:
            starts = [initial_values(rank, length) for rank in range(num_devices)]
            buffers = [np.empty_like(start) for start in starts]
            plans = {name: plan_of(name)(num_devices, length) for name in names}
            for repeat, name in turns(names, repeats):
                for buffer, start in zip(buffers, starts, strict=True):
                    buffer[:] = start
                begin = time.perf_counter()
                traffic = execute(plans[name], buffers, pool.map)
                seconds = time.perf_counter() - begin
                if repeat < 0 and name not in PROBES:
                    for buffer in buffers:
                        check_sum(buffer, num_devices, name)
                yield {
                    "length": length,
                    "algorithm": name,
                    "repeat": repeat,
                    "seconds": seconds,
                    "sent": max(traffic.sent),
                    "rounds": traffic.num_rounds,
                }


def plan_of(name: str) -> algorithms.Algorithm:
    """An algorithm of ours, or a probe, by name."""
    return PROBES[name].plan if name in PROBES else algorithms.get(name)
