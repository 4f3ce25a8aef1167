"""Several devices in one program, of this process or of several processes.

The compiled loop runs on each device, over its share of the rows. Everything is whole on every
device, before and after. Batches are filled up to equal shares, as all devices run the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from lockstep.errors import InputError, StartedError
from lockstep.frameworks.device_share import Function, Part, WithGradient
from lockstep.frameworks.jax.ops import JaxOps
from lockstep.frameworks.layout import Layout
from lockstep.frameworks.state import States
from lockstep.ops import Array, Weights
from lockstep.processes.collective import Buffers
from lockstep.processes.ranks import Rank, is_loopback, patience

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task

AXIS = "device"
WHOLE = PartitionSpec()


def show_devices(count: int) -> None:
    """Show the CPU as `count` devices, before JAX has started."""
    there = getattr(jax.config, "jax_num_cpu_devices", -1)  # -1 unless set
    if count <= max(there, 1) or jax.distributed.is_initialized():
        return
    try:
        jax.config.update("jax_num_cpu_devices", count)
    except RuntimeError as error:
        there = max(len(jax.devices()), len(jax.devices("cpu")))
        if count > there:
            raise StartedError("jax", count, there) from error


class DeviceMesh:
    """`count` devices: accelerators if there are that many, else the CPU's."""

    def __init__(self, count: int) -> None:
        self._mesh = Mesh(np.array(chosen_devices(count)), (AXIS,))
        self._everywhere = NamedSharding(self._mesh, WHOLE)

    def everywhere(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function run by every device on arrays that are whole, with whole results."""
        # unchecked: that results are the same everywhere follows from the sums, which the check
        # does not see through the loop
        return jax.shard_map(
            function, mesh=self._mesh, in_specs=WHOLE, out_specs=WHOLE, check_vma=False
        )

    def states(self, ops: JaxOps, task: Task, spec: RunSpec, layout: Layout | None) -> States:
        """States in memory of each device's own."""

        def to_devices(value: np.ndarray) -> Array:
            array = ops.to_numpy(ops.asarray(value))
            # device_put of one array lets all CPU devices share its memory
            copies = [jax.device_put(array.copy(), d) for d in self._mesh.local_devices]
            return jax.make_array_from_single_device_arrays(array.shape, self._everywhere, copies)

        def data_to_devices(value: np.ndarray) -> Array:
            return jax.device_put(ops.asarray(value), self._everywhere)

        return States(ops, task, spec, layout, to_device=to_devices, data_to_device=data_to_devices)


def chosen_devices(count: int) -> list[jax.Device]:
    """The first `count` of the accelerators, or of the CPU devices that JAX shows."""
    for devices in (jax.devices(), jax.devices("cpu")):
        if len(devices) >= count:
            return devices[:count]
    raise StartedError("jax", count, max(len(jax.devices()), len(jax.devices("cpu"))))


class MeshShare:
    """The share of the device that runs; the carried state has `batch_size` rows."""

    def __init__(self, ops: JaxOps, num_devices: int, batch_size: int) -> None:
        self._ops, self._num_devices, self._batch_size = ops, num_devices, batch_size

    def split(self, rows: Array) -> Part:
        count, size = rows.shape[0], self._size(rows)
        if size * self._num_devices == count:
            return Part(self._own(rows), count)
        places = lax.axis_index(AXIS) * size + jnp.arange(size)
        return Part(self._own(rows), count, self._ops.floating(places < count))

    def carry(self, carry: Weights) -> Weights:
        return {name: self._own(value) for name, value in carry.items()}

    def value_and_grad(self, function: Function) -> WithGradient:
        own = self._ops.value_and_grad(function)

        def with_gradient(*args: Any) -> tuple[tuple[Array, Weights], Weights]:
            (loss, carry), grads = own(*args)
            loss, carry, grads = self.sum(loss, carry, grads)
            return (loss, carry), grads

        return with_gradient

    def sum(self, loss: Array, carry: Weights, grads: Weights) -> tuple[Array, Weights, Weights]:
        loss, grads = lax.psum((loss, grads), AXIS)
        whole = {n: lax.all_gather(value, AXIS, tiled=True) for n, value in carry.items()}
        return loss, {n: value[: self._batch_size] for n, value in whole.items()}, grads

    def total(self, sums: Sequence[float]) -> list[float]:
        return list(sums)  # what leaves the program is summed

    def _size(self, x: Array) -> int:
        return -(-x.shape[0] // self._num_devices)

    def _own(self, x: Array) -> Array:
        """This device's of x (b, ...), filled up with copies of its first row: (m, ...)."""
        size = self._size(x)
        spare = size * self._num_devices - x.shape[0]
        filled = jnp.concatenate([x, jnp.broadcast_to(x[:1], (spare, *x.shape[1:]))])
        return lax.dynamic_slice_in_dim(filled, lax.axis_index(AXIS) * size, size)


# --- several processes ---------------------------------------------------------------------------


def join_processes(place: Rank) -> ProcessCollective:
    """Join the other processes, once; what they do together beside the program."""
    if jax.distributed.is_initialized():
        return ProcessCollective()
    if not place.address:
        remedy = "Set MASTER_ADDR and MASTER_PORT, or let train start the processes."
        raise InputError("address", place.address, "JAX needs one where the processes meet", remedy)
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
    return ProcessCollective()


class ProcessCollective:
    """A Collective of JAX's processes. Arrays travel as bytes: JAX would halve float64."""

    def __init__(self) -> None:
        from jax.experimental import multihost_utils  # slow to import, and seldom needed

        self._hosts = multihost_utils
        self.rank, self.world_size = jax.process_index(), jax.process_count()

    def all_reduce(self, buffers: Buffers) -> Buffers:
        return [np.sum([own.view(b.dtype) for own in self._all(b)], axis=0) for b in buffers]

    def broadcast(self, buffers: Buffers, source: int = 0) -> Buffers:
        return [self._all(b)[source].view(b.dtype).reshape(b.shape) for b in buffers]

    def _all(self, buffer: np.ndarray) -> np.ndarray:
        """Every process's bytes: (k, number of bytes)."""
        own = np.ascontiguousarray(buffer).reshape(-1).view(np.uint8)
        return np.ascontiguousarray(self._hosts.process_allgather(own))

    def barrier(self) -> None:
        self._hosts.sync_global_devices("lockstep")
