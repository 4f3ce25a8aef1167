"""One process of several that train together: its share of every batch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
import torch.distributed as dist

from lockstep.errors import InputError
from lockstep.frameworks.share import Function, Part, WithGradient
from lockstep.frameworks.torch.exchange import Exchange
from lockstep.frameworks.torch.ops import TorchOps
from lockstep.ops import Weights
from lockstep.processes.splitting import shard_slices

Tensor = torch.Tensor


def rank_share(ops: TorchOps, batch_size: int, num_devices: int) -> RankShare:
    """The share of this process; `batch_size` is that of the carried state."""
    found = dist.get_world_size() if dist.is_initialized() else 1
    if found != num_devices:
        problem = f"this run has {found} processes"
        raise InputError("devices", num_devices, problem, "Let train start them.")
    return RankShare(ops, batch_size)


class RankShare:
    """A Share whose devices are the processes of torch.distributed's group."""

    def __init__(self, ops: TorchOps, batch_size: int) -> None:
        self._ops, self._batch_size = ops, batch_size
        self._rank, self._world_size = dist.get_rank(), dist.get_world_size()
        self._exchange: Exchange | None = None

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

    def value_and_grad(self, function: Function) -> WithGradient:
        def with_gradient(weights: Weights, *args: Any) -> tuple[tuple[Tensor, Weights], Weights]:
            leaves = {n: w.detach().requires_grad_() for n, w in weights.items()}
            loss, carry = function(leaves, *args)
            exchange = self._begin(leaves, loss, carry)
            for name, leaf in leaves.items():
                leaf.register_hook(partial(exchange.put, name))
            torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
            loss, carry, grads = self._end(exchange, leaves, carry)
            return (loss, carry), grads

        return with_gradient

    def sum(self, loss: Tensor, carry: Weights, grads: Weights) -> tuple[Tensor, Weights, Weights]:
        exchange = self._begin(grads, loss, carry)
        for name in reversed(grads):
            exchange.put(name, grads[name])
        return self._end(exchange, grads, carry)

    def total(self, sums: Sequence[float]) -> list[float]:
        values = torch.tensor(list(sums), dtype=torch.float64)
        dist.all_reduce(values)
        found: list[float] = values.tolist()
        return found

    # --- the loss and the carried state go with the gradients

    def _begin(self, like: Weights, loss: Tensor, carry: Weights) -> Exchange:
        extra = {f"carry/{name}": self._in_place(value) for name, value in carry.items()}
        extra["loss"] = loss.detach()
        if self._exchange is None:
            self._exchange = Exchange(like, extra)
        self._exchange.begin(extra)
        return self._exchange

    def _in_place(self, value: Tensor) -> Tensor:
        """Own rows of a carried state in their place, zeros in that of the others."""
        own = self._own(self._batch_size)
        whole = value.new_zeros((self._batch_size, *value.shape[1:]))
        whole[own] = value[: own.stop - own.start].detach()
        return whole

    def _end(
        self, exchange: Exchange, like: Weights, carry: Weights
    ) -> tuple[Tensor, Weights, Weights]:
        found = exchange.end()
        whole = {name: found[f"carry/{name}"] for name in carry}
        return found["loss"], whole, {name: found[name] for name in like}
