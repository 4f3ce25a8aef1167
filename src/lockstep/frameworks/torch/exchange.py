"""Sums of gradients over processes, in buckets, while differentiation continues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
import torch.distributed as dist

from lockstep.ops import Weights
from lockstep.processes.collective import Collective
from lockstep.processes.ranks import current, patience
from lockstep.processes.shared_memory import SharedSums, is_possible

Tensor = torch.Tensor
# bytes after which a bucket is full: LeNet's dense layers fill the first, which is exchanged while
# its convolutions, most of the time of a step, are differentiated
BUCKET = 128 << 10
# bytes of shared memory that an exchange may take: it keeps two steps of every process, each of
# which reads all, and a container has 64 MB unless it was given more
LARGEST_SHARED = 32 << 20


class Transport(Protocol):
    """How the processes sum a bucket. All send the same buckets in the same order."""

    name: str

    def send(self, number: int, values: Tensor) -> None:
        """Send bucket `number` of this step, without waiting."""

    def total(self, number: int) -> Tensor:
        """Wait for the sum over all processes."""


class GlooTransport:
    """The engine's own allreduce (NCCL's on GPUs), in threads of its own."""

    name = "gloo"

    def __init__(self) -> None:
        self._sent: dict[int, tuple[Tensor, Any]] = {}

    def send(self, number: int, values: Tensor) -> None:
        self._sent[number] = values, dist.all_reduce(values, async_op=True)

    def total(self, number: int) -> Tensor:
        values, work = self._sent.pop(number)
        work.wait()
        return values


class SharedTransport:
    """Memory that the processes of one machine share."""

    name = "shared memory"

    def __init__(self, lengths: Sequence[int], dtype: torch.dtype, group: Collective) -> None:
        kind = str(dtype).removeprefix("torch.")
        self._sums = SharedSums(group, list(lengths), kind, patience())

    def send(self, number: int, values: Tensor) -> None:
        self._sums.post(number, values.numpy())

    def total(self, number: int) -> Tensor:
        return torch.from_numpy(self._sums.total(number))


def choose_transport(lengths: Sequence[int], like: Tensor, group: Collective) -> Transport:
    """Shared memory for small models in the processes of one machine, else the engine."""
    place = current()
    if place is None or place.local_world_size < place.world_size:
        return GlooTransport()
    small = 2 * place.world_size * sum(lengths) * like.element_size() <= LARGEST_SHARED
    if small and like.device.type == "cpu" and is_possible():
        return SharedTransport(lengths, like.dtype, group)
    return GlooTransport()


class Exchange:
    """The sums over all processes of gradients (shaped as `like`) and of a few other arrays
    (`extra`), again and again.

    Gradients fill buckets from the last parameter to the first, the order in which they are
    computed. A bucket is sent once it is full, after those before it. The first one also has
    what is known before differentiation begins.
    """

    def __init__(self, like: Weights, extra: Weights, group: Collective) -> None:
        self._shapes = {name: value.shape for name, value in [*extra.items(), *like.items()]}
        first, *others = _buckets(like)
        self._buckets = [[*extra, *first], *others]
        self._of = {name: i for i, names in enumerate(self._buckets) for name in names}
        lengths = [sum(self._shapes[n].numel() for n in names) for names in self._buckets]
        self.transport = choose_transport(lengths, next(iter(like.values())), group)
        self._like = like
        self._parts: list[dict[str, Tensor]] = []
        self._num_sent = 0

    def begin(self, extra: Weights) -> None:
        """Begin a step, with what it knows already."""
        self._parts = [{} for _ in self._buckets]
        self._parts[0] = dict(extra)
        self._num_sent = 0

    def put(self, name: str, grad: Tensor) -> None:
        """Add a gradient; it may complete a bucket."""
        self._parts[self._of[name]][name] = grad
        while self._num_sent < len(self._buckets) and self._is_full(self._num_sent):
            self._send()

    def _is_full(self, number: int) -> bool:
        return len(self._parts[number]) == len(self._buckets[number])

    def _send(self) -> None:
        number = self._num_sent
        held, names = self._parts[number], self._buckets[number]
        held |= {name: torch.zeros_like(self._like[name]) for name in names if name not in held}
        flat = torch.cat([held[name].reshape(-1) for name in names])
        self.transport.send(number, flat)
        self._num_sent += 1

    def end(self) -> Weights:
        """All sums. A gradient that was not put, as the loss does not depend on it, is zero."""
        while self._num_sent < len(self._buckets):
            self._send()
        found: Weights = {}
        for number, names in enumerate(self._buckets):
            shapes = [self._shapes[name] for name in names]
            parts = self.transport.total(number).split([shape.numel() for shape in shapes])
            found |= {n: p.view(s) for n, p, s in zip(names, parts, shapes, strict=True)}
        return found


def _buckets(like: Weights) -> list[list[str]]:
    buckets: list[list[str]] = [[]]
    size = 0
    for name in reversed(like):
        if size >= BUCKET:
            buckets, size = [*buckets, []], 0
        buckets[-1].append(name)
        size += like[name].nbytes
    return buckets
