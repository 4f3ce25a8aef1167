"""A plan carried out between processes through memory that they share: who receives reads the
sender's buffer where it lies, and the sender does nothing.

A round begins once all have ended the one before. What is read is counted by its reader, for
itself and for the rank that it is read from.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.errors import InputError
from lockstep.experiments.allreduce.algorithms import Algorithm
from lockstep.experiments.allreduce.local_plans import receive
from lockstep.experiments.allreduce.transfers import Arrival, arrivals
from lockstep.processes.collective import Buffers, Collective
from lockstep.processes.shared_memory import Counts, share

Rows = tuple[np.ndarray, ...]  # for each rank the buffer that it owns


class SharedBuffers:
    """Buffers that one rank owns and all can read, and where the ranks meet.

    All ranks make the same ones in the same order; `group` is how they meet before there are any.
    """

    def __init__(self, group: Collective, patience: float) -> None:
        self.rank, self.world_size = group.rank, group.world_size
        self._group = group
        self._counts = Counts(group, 1, patience)
        self._num_meetings = 0
        self._rows: dict[int, Rows] = {}
        memory = share(group, 8 * self.world_size**2)
        # bytes by reader and by who is read from: nobody writes in another's row
        self.read = np.frombuffer(memory, np.int64, self.world_size**2)
        self.read = self.read.reshape(self.world_size, -1)

    def make(self, length: int, dtype: Any = np.float32) -> np.ndarray:
        """This rank's buffer of so many zeros."""
        count = self.world_size * length
        memory = share(self._group, count * np.dtype(dtype).itemsize)
        rows = tuple(np.frombuffer(memory, dtype, count).reshape(self.world_size, length))
        own = rows[self.rank]
        self._rows[_address(own)] = rows
        return own

    def rows(self, buffer: np.ndarray) -> Rows:
        """The buffers of all ranks that go with this one of `make`."""
        rows = self._rows.get(_address(buffer))
        if rows is None or rows[self.rank].shape != buffer.shape:
            problem = "does not lie in the memory that the ranks share"
            raise InputError("buffer", buffer.shape, problem, "Take it from SharedBuffers.make.")
        return rows

    def meet(self) -> None:
        """Return once every rank has come here."""
        self._num_meetings += 1
        self._counts.put(0, self._num_meetings)
        self._counts.wait(0, self._num_meetings)


class SharedPlanCollective:
    """An allreduce by one of our algorithms, of buffers that `buffers.make` gave. `sent` and
    `received` count bytes, `num_rounds` rounds of plans, since the beginning."""

    def __init__(self, algorithm: Algorithm, buffers: SharedBuffers) -> None:
        self.rank, self.world_size = buffers.rank, buffers.world_size
        self.sent = self.received = self.num_rounds = 0
        self._algorithm, self._buffers = algorithm, buffers
        self._scripts: dict[int, tuple[tuple[Arrival, ...], ...]] = {}

    def all_reduce(self, buffers: Buffers) -> Buffers:
        for buffer in buffers:
            rows = self._buffers.rows(buffer)
            before = self._moved()
            self._buffers.meet()  # all have written what is to be summed
            for part in self._script(len(buffer)):
                self._carry_out(part, rows)
            sent, received = self._moved()
            self.sent += sent - before[0]
            self.received += received - before[1]
        return buffers

    def broadcast(self, buffers: Buffers, source: int = 0) -> Buffers:
        for buffer in buffers:
            rows = self._buffers.rows(buffer)
            self._buffers.meet()
            if self.rank != source:
                buffer[:] = rows[source]
            self._buffers.meet()
        return buffers

    def barrier(self) -> None:
        self._buffers.meet()

    def _script(self, length: int) -> tuple[tuple[Arrival, ...], ...]:
        """What arrives at this rank, round by round."""
        if length not in self._scripts:
            rounds = self._algorithm(self.world_size, length).rounds
            self._scripts[length] = tuple(
                tuple(a for a in arrivals(part) if a.target == self.rank) for part in rounds
            )
        return self._scripts[length]

    def _carry_out(self, part: tuple[Arrival, ...], rows: Rows) -> None:
        for arrival in part:
            num_bytes = receive(arrival, rows)
            for source in arrival.sources:
                self._buffers.read[self.rank, source] += num_bytes
        self.num_rounds += 1
        self._buffers.meet()  # nobody writes what another still reads

    def _moved(self) -> tuple[int, int]:
        """Bytes sent and received so far; constant from one meeting to the next."""
        read = self._buffers.read
        return int(read[:, self.rank].sum()), int(read[self.rank].sum())


def _address(buffer: np.ndarray) -> int:
    address: int = buffer.ctypes.data
    return address
