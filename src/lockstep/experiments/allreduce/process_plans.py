"""A plan carried out between processes, by the point-to-point messages of torch.distributed (gloo).
The one file of this room that imports PyTorch."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.distributed as dist

from lockstep.experiments.allreduce.algorithms import Algorithm
from lockstep.experiments.allreduce.local_plans import add_in_order
from lockstep.experiments.allreduce.transfers import Arrival, Transfer, arrivals
from lockstep.frameworks.torch.devices import ProcessGroup, flat, join_group
from lockstep.processes.collective import Buffers
from lockstep.processes.ranks import Rank

# bytes of a message that is added, and how many are under way from each source: memory for
# WINDOW pieces, whatever the size. 64 MB over 4 processes on two quiet cores, sharded and ring:
# 151 and 196 ms with 256 KB, 131 and 132 ms with 1 MB, 122 and 114 ms with 4 MB, 123 and 126 ms
# whole. What is copied is one message: pieces make it no faster.
PIECE = 4 << 20
WINDOW = 4


def join(rank: int, world_size: int, store: Path, timeout: float) -> None:
    """Meet the other processes of this machine at a file."""
    join_group(Rank(rank, world_size, rank, world_size, store=str(store)), timeout)


class MyRound(NamedTuple):
    """What one device does in a round."""

    sends: tuple[Transfer, ...]
    arrivals: tuple[Arrival, ...]


class Piece(NamedTuple):
    """Messages under way: what they are for, where they land, and how to wait for them."""

    arrival: Arrival
    own: np.ndarray
    landed: list[np.ndarray]
    works: list[Any]


class PlanCollective(ProcessGroup):
    """An allreduce by one of our algorithms. `sent` and `received` count bytes, `num_rounds` rounds
    of plans, since the beginning.

    Between the processes of one machine every byte costs the same few cores; on a network
    each device has a link of its own. With a `bandwidth`, in bytes per second, a device
    takes at least max(sent, received) / bandwidth for each round, as it would behind such a link.
    """

    def __init__(self, algorithm: Algorithm, bandwidth: float = math.inf) -> None:
        super().__init__()
        self.sent = self.received = self.num_rounds = 0
        self._algorithm, self._bandwidth = algorithm, bandwidth
        self._scripts: dict[int, tuple[MyRound, ...]] = {}
        self._staging: dict[tuple[int, int], np.ndarray] = {}

    def all_reduce(self, buffers: Buffers) -> Buffers:
        for row in map(flat, buffers):
            for part in self._script(len(row)):
                begin, sent, received = time.monotonic(), self.sent, self.received
                self._carry_out(part, row)
                busy = max(self.sent - sent, self.received - received) / self._bandwidth
                time.sleep(max(0.0, begin + busy - time.monotonic()))
        return buffers

    def _script(self, length: int) -> tuple[MyRound, ...]:
        if length not in self._scripts:
            rounds = self._algorithm(self.world_size, length).rounds
            self._scripts[length] = tuple(
                MyRound(
                    tuple(t for t in part if t.source == self.rank),
                    tuple(a for a in arrivals(part) if a.target == self.rank),
                )
                for part in rounds
            )
        return self._scripts[length]

    def _carry_out(self, part: MyRound, buffer: np.ndarray) -> None:
        self.num_rounds += 1
        sends = [
            self._send(buffer[piece], t.target) for t in part.sends for piece in _pieces(t, buffer)
        ]
        under_way: deque[Piece] = deque()
        for arrival in part.arrivals:
            for index, piece in enumerate(_pieces(arrival, buffer)):
                if len(under_way) == WINDOW:
                    _land(under_way.popleft())
                under_way.append(self._receive(arrival, buffer[piece], index % WINDOW))
        while under_way:
            _land(under_way.popleft())
        for work in sends:  # what is being sent must not be written by the next round
            work.wait()

    def _send(self, values: np.ndarray, target: int) -> Any:
        self.sent += values.nbytes
        return dist.isend(torch.from_numpy(values), target)

    def _receive(self, arrival: Arrival, own: np.ndarray, slot: int) -> Piece:
        landed = [
            self._place(source, slot, own) if arrival.adds else own for source in arrival.sources
        ]
        works = [
            dist.irecv(torch.from_numpy(place), source)
            for place, source in zip(landed, arrival.sources, strict=True)
        ]
        self.received += own.nbytes * len(works)
        return Piece(arrival, own, landed, works)

    def _place(self, source: int, slot: int, like: np.ndarray) -> np.ndarray:
        """Where a piece lands before it is added; kept, because fresh memory costs page faults."""
        found = self._staging.get((source, slot))
        if found is None or len(found) < len(like) or found.dtype != like.dtype:
            found = self._staging[source, slot] = np.empty_like(like)
        return found[: len(like)]


def _pieces(part: Transfer | Arrival, buffer: np.ndarray) -> Iterator[slice]:
    """The messages of a transfer: one, unless it is added."""
    step = max(1, PIECE // buffer.itemsize) if part.adds else part.stop - part.start
    for start in range(part.start, part.stop, step):
        yield slice(start, min(start + step, part.stop))


def _land(piece: Piece) -> None:
    """Wait for a piece, and add it if it is to be added."""
    for work in piece.works:
        work.wait()
    if piece.arrival.adds:
        add_in_order(piece.own, piece.landed, piece.arrival.num_below)
