"""Messages between devices, counted while they are sent, and the sums and joins made of them.

Sums are taken in the order of ranks, so every device that has one has the same bits.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from lockstep.processes.splitting import shard_sizes

Tensor = torch.Tensor
BREATH = 0.005  # seconds in which all learn when to begin, and the parent gets the last messages
AWAKE = 0.0003  # of these, not asleep: a core that slept begins slowly


class Message(NamedTuple):
    """A message under way, and the memory that it needs until it is done."""

    values: Tensor
    work: Any


class Wire:
    """One device's side. `sent` counts bytes, `messages` what it sent, `waited` the seconds spent
    until a message was there or gone, since the beginning."""

    def __init__(self) -> None:
        self.rank, self.world_size = dist.get_rank(), dist.get_world_size()
        self.sent = self.messages = 0
        self.waited = 0.0

    def send(self, values: Tensor, target: int) -> Message:
        values = values.contiguous()
        self.sent += values.nbytes
        self.messages += 1
        return Message(values, dist.isend(values, target))

    def receive(self, shape: Sequence[int], like: Tensor, source: int) -> Message:
        values = like.new_empty(tuple(shape))
        return Message(values, dist.irecv(values, source))

    def wait(self, message: Message) -> Tensor:
        begin = time.perf_counter()
        message.work.wait()
        self.waited += time.perf_counter() - begin
        return message.values

    def begin_together(self) -> None:
        """Return on all devices within microseconds: a barrier lets them go within milliseconds,
        which would count as waiting. They share a machine, so they share its clock."""
        moment = torch.tensor(time.perf_counter() + BREATH, dtype=torch.float64)
        dist.all_reduce(moment, dist.ReduceOp.MAX)
        begin = float(moment)
        time.sleep(max(0.0, begin - AWAKE - time.perf_counter()))
        while time.perf_counter() < begin:
            pass

    # --- all devices at once ----------------------------------------------------------------------

    def all_gather(self, part: Tensor, sizes: Sequence[int], axis: int) -> Tensor:
        """The parts of all devices side by side; sizes[i] is device i's along the axis."""
        shape = list(part.shape)
        shapes = {i: [*shape[:axis], size, *shape[axis + 1 :]] for i, size in enumerate(sizes)}
        parts = self._exchange(dict.fromkeys(shapes, part), shapes)
        return torch.cat([parts[i] for i in range(self.world_size)], axis)

    def reduce_scatter(self, whole: Tensor, sizes: Sequence[int], axis: int) -> Tensor:
        """This device's part of the sum over devices."""
        parts = dict(enumerate(whole.split(list(sizes), axis)))
        own = parts[self.rank].shape
        return self._sum(self._exchange(parts, dict.fromkeys(parts, own)))

    def all_reduce(self, values: Tensor) -> Tensor:
        """The sum over devices: each adds up a part of it and gives that to the others. Between two
        devices the same bytes do it in one exchange: each gives the other all."""
        if self.world_size <= 2:
            ranks = range(self.world_size)
            shapes = dict.fromkeys(ranks, values.shape)
            return self._sum(self._exchange(dict.fromkeys(ranks, values), shapes))
        sizes = shard_sizes(values.numel(), self.world_size)
        part = self.reduce_scatter(values.reshape(-1), sizes, 0)
        return self.all_gather(part, sizes, 0).view(values.shape)

    def _exchange(
        self, parts: Mapping[int, Tensor], shapes: Mapping[int, Sequence[int]]
    ) -> dict[int, Tensor]:
        """Give parts[i] to device i and have shapes[i] from it; what is empty is not sent."""
        own = parts[self.rank]
        others = [rank for rank in parts if rank != self.rank]
        arriving = {i: self.receive(shapes[i], own, i) for i in others if 0 not in shapes[i]}
        leaving = [self.send(parts[i], i) for i in others if parts[i].numel()]
        found = {i: own.new_empty(tuple(shapes[i])) for i in others if i not in arriving}
        found |= {i: self.wait(message) for i, message in arriving.items()}
        for message in leaving:
            self.wait(message)
        return {**found, self.rank: own}

    def _sum(self, parts: Mapping[int, Tensor]) -> Tensor:
        return sum((parts[rank] for rank in range(1, self.world_size)), start=parts[0])
