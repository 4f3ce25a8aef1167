"""Several processes of JAX: each has its devices, and the program runs on all of them."""

from __future__ import annotations

import jax
import numpy as np
from jax.experimental import multihost_utils

from lockstep.errors import InputError
from lockstep.processes.collective import Buffers
from lockstep.processes.ranks import Rank, is_loopback, patience


def join_processes(place: Rank) -> None:
    """Meet the other processes at an address, once."""
    if jax.distributed.is_initialized():
        return
    if not place.address:
        remedy = "Set MASTER_ADDR and MASTER_PORT, or let train start the processes."
        raise InputError("address", place.address, "JAX has nowhere to meet", remedy)
    seconds = max(1, round(patience()))
    jax.config.update("jax_num_cpu_devices", 1)  # each process is a device
    jax.distributed.initialize(
        place.address,
        place.world_size,
        place.rank,
        initialization_timeout=seconds,
        heartbeat_timeout_seconds=seconds,
        coordinator_bind_address=place.address if is_loopback(place.address) else None,
    )


class ProcessCollective:
    """A Collective of JAX's processes. Arrays travel as bytes: JAX would halve float64."""

    def __init__(self) -> None:
        self.rank, self.world_size = jax.process_index(), jax.process_count()

    def all_reduce(self, buffers: Buffers) -> Buffers:
        return [np.sum([own.view(b.dtype) for own in self._all(b)], axis=0) for b in buffers]

    def broadcast(self, buffers: Buffers, source: int = 0) -> Buffers:
        return [self._all(b)[source].view(b.dtype).reshape(b.shape) for b in buffers]

    def _all(self, buffer: np.ndarray) -> np.ndarray:
        """Every process's bytes: (k, number of bytes)."""
        own = np.ascontiguousarray(buffer).reshape(-1).view(np.uint8)
        return np.ascontiguousarray(multihost_utils.process_allgather(own))

    def barrier(self) -> None:
        multihost_utils.sync_global_devices("lockstep")
