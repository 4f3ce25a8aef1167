"""One device of a benchmark as a thread: plans timed in this process.

Every device receives by itself, as worker.py's processes do; NumPy lets threads add and copy at the
same time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from lockstep.experiments.allreduce import algorithms
from lockstep.experiments.allreduce.calibration import PROBES
from lockstep.experiments.allreduce.local_plans import execute
from lockstep.experiments.allreduce.timing import check_sum, initial_values, turns


def messages(
    num_devices: int, jobs: Sequence[tuple[int, list[str]]], repeats: int
) -> Iterator[dict[str, Any]]:
    """What worker.py's processes tell, for all devices at once."""
    with ThreadPoolExecutor(num_devices) as pool:
        for length, names in jobs:
            starts = [initial_values(rank, length) for rank in range(num_devices)]
            buffers = [np.empty_like(start) for start in starts]
            plans = {name: _algorithm(name)(num_devices, length) for name in names}
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


def _algorithm(name: str) -> algorithms.Algorithm:
    return PROBES[name].plan if name in PROBES else algorithms.get(name)
