"""Memory that the processes of one machine share, how they wait for each other in it, and sums.

Each process writes its values where all can read them and raises its count; a process that has seen
the counts of all adds the values up in the order of the ranks, so that all get the same bits. With
a core for each, nobody sleeps unless the wait is long: waking a process takes longer than a small
model's exchange (two processes and 44,000 numbers, on the two virtual cores of docs/results.md:
gloo's allreduce takes 1.3 ms, this 0.03 ms).

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

from lockstep.errors import InputError
from lockstep.processes.children import process_state
from lockstep.processes.collective import Collective

LINE = 64  # bytes of a cache line: counts on the same one would be passed to and fro
SPIN = 0.005  # seconds of looking without a pause; after that, a nap between looks
NAP = 0.0002
# where ranks share cores nobody spins: a process at work would lose part of its core to
# those that wait, for sched_yield does not yield to another session's process (64 MB over 4 ranks
# on two cores, gather_broadcast: 58 to 70 ms with SPIN, 50 to 59 ms without). Naps grow with the
# wait.
NAPS = 0.00001, 0.001  # seconds: the shortest and the longest
NAP_PART = 0.1  # of what was waited so far
LOOK_AROUND = 0.1  # seconds after which it is asked whether the others are still there
FOLDER = Path("/dev/shm")


def is_possible() -> bool:
    """Whether this machine shares memory in the way relied on here."""
    return FOLDER.is_dir() and platform.machine() in ("x86_64", "AMD64")


class Counts:
    """For each of `num` things a count of every rank, which only grows; each raises its own."""

    def __init__(self, collective: Collective, num: int, patience: float) -> None:
        self._rank, self._patience = collective.rank, patience
        self._crowded = collective.world_size > len(os.sched_getaffinity(0))
        size, shape = num * collective.world_size * LINE, (num, collective.world_size, LINE // 8)
        memory = share(collective, size + 8 * collective.world_size)
        self._counts = np.frombuffer(memory, np.int64, size // 8).reshape(shape)[:, :, 0]
        self._pids = np.frombuffer(memory, np.int64, collective.world_size, size)
        self._pids[self._rank] = os.getpid()
        collective.barrier()  # all have written their process numbers

    def put(self, index: int, count: int) -> None:
        """This rank has come so far; what it wrote before is there for all."""
        self._counts[index, self._rank] = count

    def wait(self, index: int, count: int) -> None:
        """Return once all ranks have come so far; raise if one is gone, or patience ends."""
        counts = self._counts[index]
        if (counts >= count).all():
            return
        begin = looked = time.monotonic()
        while not (counts >= count).all():
            now = time.monotonic()
            if now - begin < SPIN and not self._crowded:
                os.sched_yield()
                continue
            time.sleep(self._nap(now - begin))
            if now - looked > LOOK_AROUND:
                looked = now
                self._look_around(np.flatnonzero(counts < count).tolist(), now - begin)

    def _nap(self, waited: float) -> float:
        return min(max(NAPS[0], NAP_PART * waited), NAPS[1]) if self._crowded else NAP

    def _look_around(self, missing: list[int], waited: float) -> None:
        for rank in missing:
            if process_state(int(self._pids[rank])) in ("", "Z", "X"):
                raise ConnectionError(f"rank {rank} is gone")
        if waited > self._patience:
            raise TimeoutError(f"timed out after {waited:.0f} s: waiting for ranks {missing}")


class SharedSums:
    """Buffers of given lengths, summed over all ranks again and again.

    `post(i, values)` gives buffer i, `total(i)` waits for the others and returns its sum. Every
    process posts and asks for every buffer once a turn, in the same order.
    """

    def __init__(
        self, collective: Collective, lengths: list[int], dtype: Any, patience: float
    ) -> None:
        self._rank, self._world_size = collective.rank, collective.world_size
        self._bounds = np.cumsum([0, *lengths])
        self._turn = [0] * len(lengths)
        # two places for each: in the next turn nobody overwrites what another still reads, and in
        # the one after that all have read it, or they would not have posted again
        shape = 2, self._world_size, int(self._bounds[-1])
        memory = share(collective, int(np.prod(shape)) * np.dtype(dtype).itemsize)
        self._values = np.frombuffer(memory, dtype, int(np.prod(shape))).reshape(shape)
        self._counts = Counts(collective, len(lengths), patience)

    def post(self, index: int, values: np.ndarray) -> None:
        """Give this rank's values of a buffer."""
        self._turn[index] += 1
        place = self._place(index)
        self._values[self._turn[index] % 2, self._rank, place] = values
        self._counts.put(index, self._turn[index])

    def total(self, index: int) -> np.ndarray:
        """The sum over all ranks, in their order."""
        self._counts.wait(index, self._turn[index])
        place, half = self._place(index), self._values[self._turn[index] % 2]
        total: np.ndarray = half[0, place] + half[1, place]
        for other in range(2, self._world_size):
            total += half[other, place]
        return total

    def _place(self, index: int) -> slice:
        return slice(self._bounds[index], self._bounds[index + 1])


def share(collective: Collective, size: int) -> mmap.mmap:
    """Memory of so many bytes, all zero, that all ranks share; its file is gone before anything can
    fail. All ranks ask for it together."""
    size = max(1, size)  # there is no mapping of nothing
    name = np.zeros(256, np.uint8)
    if collective.rank == 0:
        handle, path = tempfile.mkstemp(prefix="lockstep-", dir=FOLDER)
        name[: len(path)] = np.frombuffer(path.encode(), np.uint8)
        _reserve(handle, Path(path), size)
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


def _reserve(handle: int, path: Path, size: int) -> None:
    """Take the pages now: if there were none left later, writing would end the process."""
    try:
        os.posix_fallocate(handle, 0, size)
    except OSError as error:
        path.unlink()
        problem = f"is not there: {error.strerror}"
        remedy = f"Free space in {FOLDER}, or give it more (docker run --shm-size)."
        raise InputError("shared memory", f"{size} bytes", problem, remedy) from error
