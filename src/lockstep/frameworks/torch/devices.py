"""Several devices: processes that torch.distributed joins, each with its share of every batch."""

from __future__ import annotations

import atexit
import os
import socket
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

from lockstep.errors import InputError
from lockstep.frameworks.device_share import Function, Part, WithGradient
from lockstep.frameworks.torch.exchange import Exchange
from lockstep.frameworks.torch.ops import TorchOps
from lockstep.ops import Weights
from lockstep.processes import threads
from lockstep.processes.collective import Buffers
from lockstep.processes.ranks import Rank, is_loopback, patience
from lockstep.processes.splitting import shard_slices

Tensor = torch.Tensor


def join_processes(rank: Rank) -> EngineCollective:
    """Join the other processes, once; what they do together beside the program."""
    join_group(rank, patience())
    return EngineCollective()


def join_group(place: Rank, timeout: float) -> None:
    """Join the other processes, once: by gloo on CPUs, with NCCL beside it on GPUs.

    With a file as the store, gloo chooses free ports on loopback."""
    if dist.is_initialized():
        return
    if threads.COUNT not in os.environ:  # every device is a process: they share the cores
        torch.set_num_threads(max(1, threads.available() // place.local_world_size))
    if is_loopback(place.address):
        os.environ["GLOO_SOCKET_IFNAME"] = loopback()
    dist.init_process_group(
        "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo",
        store=_store(place, timeout),
        rank=place.rank,
        world_size=place.world_size,
        timeout=timedelta(seconds=timeout),
    )
    atexit.register(_leave_group)


def _leave_group() -> None:
    """gloo's threads must end before Python does: one that still runs then aborts the process."""
    if dist.is_initialized():
        dist.destroy_process_group()


def _store(place: Rank, timeout: float) -> Any:
    """Where the processes find each other's addresses."""
    if place.store:
        return dist.FileStore(place.store, place.world_size)
    seconds = timedelta(seconds=timeout)
    store, _, _ = next(rendezvous("env://", place.rank, place.world_size, timeout=seconds))
    # torchrun keeps its store when it restarts all: keys of the processes before must not be found
    return dist.PrefixStore(f"start-{place.restarts}", store)


def loopback() -> str:
    """The name of the interface of 127.0.0.1: lo on Linux, lo0 on macOS."""
    names = [name for _, name in socket.if_nameindex()]
    return next((name for name in names if name in ("lo", "lo0")), "lo")


class ProcessGroup:
    """The part of a Collective that is the same for every algorithm."""

    def __init__(self) -> None:
        self.rank = dist.get_rank()
        self.world_size = dist.get_world_size()

    def broadcast(self, buffers: Buffers, source: int = 0) -> Buffers:
        for buffer in buffers:
            dist.broadcast(torch.from_numpy(flat(buffer)), source)
        return buffers

    def barrier(self) -> None:
        dist.barrier()


class EngineCollective(ProcessGroup):
    """The allreduce of gloo itself."""

    def all_reduce(self, buffers: Buffers) -> Buffers:
        for buffer in buffers:
            dist.all_reduce(torch.from_numpy(flat(buffer)))
        return buffers


def flat(buffer: np.ndarray) -> np.ndarray:
    """The same memory as one row: what is received is written into it."""
    if not (buffer.flags.c_contiguous and buffer.flags.writeable):
        problem = "is not a contiguous array that can be written"
        raise InputError("buffer", buffer.shape, problem, "Give a copy: numpy.array(buffer).")
    return buffer.reshape(-1)


# --- this process's share of every batch ----------------------------------------------------------


def process_share(ops: TorchOps, batch_size: int, num_devices: int) -> ProcessShare:
    """The share of this process; `batch_size` is that of the carried state."""
    found = dist.get_world_size() if dist.is_initialized() else 1
    if found != num_devices:
        problem = f"this run has {found} processes"
        raise InputError("devices", num_devices, problem, "Let train start them.")
    return ProcessShare(ops, batch_size)


class ProcessShare:
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
        # it must take part in every exchange: with a row of weight 0
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
            self._exchange = Exchange(like, extra, EngineCollective())
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
