"""One process of several that train together: its share of a batch, and gradients exchanged in
buckets while earlier layers are still being differentiated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
import torch.distributed as dist

from lockstep.errors import InputError
from lockstep.frameworks.protocol import Weights
from lockstep.frameworks.share import Function, Part, WithGradient
from lockstep.frameworks.torch.ops import TorchOps
from lockstep.parallel.splitting import shard_slices

Tensor = torch.Tensor
# bytes after which a bucket is full: LeNet's dense layers fill the first, which is exchanged while
# its convolutions, most of the time of a step, are differentiated
BUCKET = 128 << 10


def rank_share(ops: TorchOps, batch_size: int, num_devices: int) -> RankShare:
    """The share of this process; `batch_size` is that of the carried state."""
    if not dist.is_initialized() or dist.get_world_size() != num_devices:
        found = dist.get_world_size() if dist.is_initialized() else 1
        raise InputError(
            "devices", num_devices, f"this run has {found} processes", "Let train start them."
        )
    return RankShare(ops, batch_size)


class RankShare:
    """A Share whose devices are the processes of torch.distributed's group."""

    def __init__(self, ops: TorchOps, batch_size: int) -> None:
        self._ops, self._batch_size = ops, batch_size
        self._rank, self._world_size = dist.get_rank(), dist.get_world_size()

    def _own(self, size: int) -> slice:
        return shard_slices(size, self._world_size)[self._rank]

    def split(self, rows: Tensor) -> Part:
        count = len(rows)
        own = rows[self._own(count)]
        if len(own):
            return Part(own, count)
        # it must take part in every exchange: with a row that counts for nothing
        return Part(rows[:1], count, self._ops.zeros((1,)))

    def carry(self, carry: Weights) -> Weights:
        own = self._own(self._batch_size)
        rows = own if own.stop > own.start else slice(0, 1)
        return {name: value[rows] for name, value in carry.items()}

    def _whole(self, value: Tensor) -> Tensor:
        """Own rows of a carried state in their place, zeros in that of the others."""
        own = self._own(self._batch_size)
        whole = value.new_zeros((self._batch_size, *value.shape[1:]))
        whole[own] = value[: own.stop - own.start]
        return whole

    def value_and_grad(self, function: Function) -> WithGradient:
        def with_gradient(weights: Weights, *args: Any) -> tuple[tuple[Tensor, Weights], Weights]:
            leaves = {n: w.detach().requires_grad_() for n, w in weights.items()}
            exchange = Exchange(leaves)
            for name, leaf in leaves.items():
                leaf.register_hook(partial(exchange.put, name))
            loss, carry = function(leaves, *args)
            exchange.begin(loss.detach(), {n: self._whole(v.detach()) for n, v in carry.items()})
            torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
            loss, carry, grads = exchange.end()
            return (loss, carry), grads

        return with_gradient

    def sum(self, loss: Tensor, carry: Weights, grads: Weights) -> tuple[Tensor, Weights, Weights]:
        exchange = Exchange(grads)
        exchange.begin(loss, {name: self._whole(value) for name, value in carry.items()})
        for name in reversed(grads):
            exchange.put(name, grads[name])
        return exchange.end()

    def total(self, sums: Sequence[float]) -> list[float]:
        values = torch.tensor(list(sums), dtype=torch.float64)
        dist.all_reduce(values)
        found: list[float] = values.tolist()
        return found


class Exchange:
    """The sums over all processes of one step's loss, carried state and gradients.

    Parameters fill buckets from the last to the first, the order in which differentiation comes to
    them. A bucket is exchanged once it is full, after those before it: every process exchanges the
    same buckets in the same order. The first bucket also takes the loss and the carried state.
    """

    def __init__(self, like: Weights) -> None:
        self._like = like
        self._buckets = _buckets(like)
        self._of = {name: i for i, names in enumerate(self._buckets) for name in names}
        self._parts: list[dict[str, Tensor]] = [{} for _ in self._buckets]
        self._extra: dict[str, Tensor] = {}
        self._sent: list[tuple[Tensor, list[tuple[str, torch.Size]], Any]] = []

    def begin(self, loss: Tensor, carry: Weights) -> None:
        self._extra = {"loss": loss, **{f"carry/{name}": value for name, value in carry.items()}}

    def put(self, name: str, grad: Tensor) -> None:
        self._parts[self._of[name]][name] = grad
        while len(self._sent) < len(self._buckets) and self._is_full(len(self._sent)):
            self._send(len(self._sent))

    def _is_full(self, index: int) -> bool:
        return len(self._parts[index]) == len(self._buckets[index])

    def _send(self, index: int) -> None:
        names = self._buckets[index]
        held = {n: self._parts[index].get(n, torch.zeros_like(self._like[n])) for n in names}
        held |= self._extra if index == 0 else {}
        flat = torch.cat([value.reshape(-1) for value in held.values()])
        work = dist.all_reduce(flat, async_op=True)
        self._sent.append((flat, [(name, value.shape) for name, value in held.items()], work))

    def end(self) -> tuple[Tensor, Weights, Weights]:
        """Wait for all; those that were not used in the loss are zero."""
        while len(self._sent) < len(self._buckets):
            self._send(len(self._sent))
        found: dict[str, Tensor] = {}
        for flat, shapes, work in self._sent:
            work.wait()
            parts = flat.split([shape.numel() for _, shape in shapes])
            found |= {
                name: part.reshape(shape) for (name, shape), part in zip(shapes, parts, strict=True)
            }
        carry = {name[6:]: found[name] for name in self._extra if name.startswith("carry/")}
        return found["loss"], carry, {name: found[name] for name in self._like}


def _buckets(like: Weights) -> list[list[str]]:
    buckets: list[list[str]] = [[]]
    size = 0
    for name in reversed(like):
        if size >= BUCKET:
            buckets, size = [*buckets, []], 0
        buckets[-1].append(name)
        size += like[name].nbytes
    return buckets
