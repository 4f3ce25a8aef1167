"""The processes that torch.distributed joins: how they meet, and what they do together."""

from __future__ import annotations

import atexit
import os
import socket
from datetime import timedelta
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

from lockstep.errors import InputError
from lockstep.processes import threads
from lockstep.processes.collective import Buffers
from lockstep.processes.ranks import Rank, is_loopback


def join_group(place: Rank, timeout: float) -> None:
    """Meet the other processes, once: by gloo on CPUs, beside it NCCL on GPUs.

    At a file, gloo chooses free ports on loopback."""
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
    """Where the processes leave each other word."""
    if place.store:
        return dist.FileStore(place.store, place.world_size)
    seconds = timedelta(seconds=timeout)
    store, _, _ = next(rendezvous("env://", place.rank, place.world_size, timeout=seconds))
    # torchrun keeps its store when it starts all anew: what the lost ones left must not be found
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
    """The same memory as one row: what is received must not end in a copy."""
    if not (buffer.flags.c_contiguous and buffer.flags.writeable):
        problem = "is not a contiguous array that can be written"
        raise InputError("buffer", buffer.shape, problem, "Give a copy: numpy.array(buffer).")
    return buffer.reshape(-1)
