"""Sums over the processes of one machine through memory that they share.

Each process writes its values where all can read them and raises its count; whoever has seen the
counts of all adds the values up in the order of the ranks, so that all get the same bits. Nobody
sleeps unless the wait is long: waking a process takes longer than a small model's exchange (two
processes and 44,000 numbers, on the two virtual cores of docs/results.md: gloo's allreduce takes
1.3 ms, this 0.03 ms).

Relies on stores becoming visible in their order, as x86-64 has it.
"""

from __future__ import annotations

import mmap
import os
import platform
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from lockstep.parallel.collective import Collective

LINE = 64  # bytes of a cache line: counts on the same one would be passed to and fro
SPIN = 0.005  # seconds of looking without a pause; after that, a nap between looks
NAP = 0.0002
LOOK_AROUND = 0.1  # seconds after which it is asked whether the others are still there
FOLDER = Path("/dev/shm")


def is_possible() -> bool:
    """Whether this machine shares memory in the way relied on here."""
    return FOLDER.is_dir() and platform.machine() in ("x86_64", "AMD64")


class SharedSums:
    """Buffers of given lengths, summed over all ranks again and again.

    `post(i, values)` gives buffer i, `total(i)` waits for the others and returns its sum. Every
    process posts and asks for every buffer once a turn, in the same order.
    """

    def __init__(
        self, collective: Collective, lengths: list[int], dtype: Any, patience: float
    ) -> None:
        self._rank, self._world_size = collective.rank, collective.world_size
        self._patience = patience
        self._bounds = np.cumsum([0, *lengths])
        self._turn = [0] * len(lengths)
        itemsize, num = np.dtype(dtype).itemsize, self._world_size
        counts = len(lengths) * num * LINE
        # two places for each: in the next turn nobody overwrites what another still reads, and in
        # the one after that all have read it, or they would not have posted again
        values = 2 * num * int(self._bounds[-1]) * itemsize
        memory = _shared(collective, counts + num * 8 + values)
        self._counts = np.frombuffer(memory, np.int64, counts // 8).reshape(len(lengths), num, -1)
        self._pids = np.frombuffer(memory, np.int64, num, counts)
        self._values = np.frombuffer(memory, dtype, values // itemsize, counts + num * 8)
        self._values = self._values.reshape(2, num, -1)
        self._pids[self._rank] = os.getpid()
        collective.barrier()  # all have said who they are

    def post(self, index: int, values: np.ndarray) -> None:
        """Give this rank's values of a buffer."""
        self._turn[index] += 1
        place = self._place(index)
        self._values[self._turn[index] % 2, self._rank, place] = values
        self._counts[index, self._rank, 0] = self._turn[index]

    def total(self, index: int) -> np.ndarray:
        """The sum over all ranks, in their order."""
        self._wait(index)
        place, half = self._place(index), self._values[self._turn[index] % 2]
        total: np.ndarray = half[0, place] + half[1, place]
        for other in range(2, self._world_size):
            total += half[other, place]
        return total

    def _place(self, index: int) -> slice:
        return slice(self._bounds[index], self._bounds[index + 1])

    def _wait(self, index: int) -> None:
        counts, turn = self._counts[index, :, 0], self._turn[index]
        if (counts >= turn).all():
            return
        begin = looked = time.monotonic()
        while not (counts >= turn).all():
            now = time.monotonic()
            if now - begin < SPIN:
                os.sched_yield()
                continue
            time.sleep(NAP)
            if now - looked > LOOK_AROUND:
                looked = now
                self._look_around(np.flatnonzero(counts < turn).tolist(), now - begin)

    def _look_around(self, missing: list[int], waited: float) -> None:
        for rank in missing:
            if not _is_alive(int(self._pids[rank])):
                raise ConnectionError(f"rank {rank} is gone")
        if waited > self._patience:
            raise TimeoutError(f"timed out after {waited:.0f} s: waiting for ranks {missing}")


def _shared(collective: Collective, size: int) -> mmap.mmap:
    """Memory of so many bytes that all ranks share; its file is gone before anything can fail."""
    name = np.zeros(256, np.uint8)
    if collective.rank == 0:
        handle, path = tempfile.mkstemp(prefix="lockstep-", dir=FOLDER)
        name[: len(path)] = np.frombuffer(path.encode(), np.uint8)
        os.ftruncate(handle, size)
    found = collective.broadcast([name])[0].tobytes().rstrip(b"\0").decode()
    if collective.rank:
        handle = os.open(found, os.O_RDWR)
    collective.barrier()
    if collective.rank == 0:
        Path(found).unlink()
    try:
        return mmap.mmap(handle, size)
    finally:
        os.close(handle)


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")
