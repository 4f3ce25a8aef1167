"""A run's state in a framework's own arrays, converted from and to canonical arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from lockstep.frameworks.layout import Layout
from lockstep.ops import Array, Arrays, Ops, Snapshot, Weights

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


PerDevice = Any  # Weights; where a program has a replica for each device, a tuple of Weights
ToDevice = Callable[[np.ndarray], Array]


class DeviceState(NamedTuple):
    """Weights, optimizer slots and carried state as the framework's own arrays."""

    weights: PerDevice
    slots: PerDevice
    carry: PerDevice


class StateStore(Protocol):
    """Where a program's state and data are: on one device, or on several."""

    def load(self, snapshot: Snapshot) -> DeviceState: ...
    def dump(self, state: DeviceState) -> Snapshot: ...
    def restart_carry(self, state: DeviceState) -> DeviceState: ...
    def data(self) -> dict[str, PerDevice]:
        """Every split's arrays as the framework's own, put there once."""


class States:
    """The state on one device, in arrays of the given layout.

    `to_device` makes the framework's array from one of NumPy's, `data_to_device` one that is only
    read; both are `ops.asarray` unless given.
    """

    def __init__(
        self,
        ops: Ops,
        task: Task,
        spec: RunSpec,
        layout: Layout | None = None,
        *,
        to_device: ToDevice | None = None,
        data_to_device: ToDevice | None = None,
    ) -> None:
        self._ops, self._task, self._spec = ops, task, spec
        self._layout = layout or Layout()
        self._to_device = to_device or ops.asarray
        self._data_to_device = data_to_device or ops.asarray

    def load(self, snapshot: Snapshot) -> DeviceState:
        full = self._task.complete(snapshot, self._spec)
        weights = self._layout.to_native(full.weights)
        slots = self._layout.slots_to_native(full.slots)
        return DeviceState(*(self._on_device(group) for group in (weights, slots, full.carry)))

    def dump(self, state: DeviceState) -> Snapshot:
        weights, slots, carry = (self.canonical(group) for group in state)
        weights = self._layout.from_native(weights)
        return Snapshot(weights, self._layout.slots_from_native(slots), carry)

    def restart_carry(self, state: DeviceState) -> DeviceState:
        shapes = self._task.model.carry_shapes(self._spec.batch_size)
        return state._replace(carry=self._on_device({n: np.zeros(s) for n, s in shapes.items()}))

    def data(self) -> dict[str, Weights]:
        return {
            split: {name: self._data_to_device(value) for name, value in arrays.items()}
            for split, arrays in self._task.splits.items()
        }

    def canonical(self, arrays: Weights) -> Arrays:
        """Copies in NumPy."""
        return {name: np.array(self._ops.to_numpy(value)) for name, value in arrays.items()}

    def _on_device(self, arrays: Arrays) -> Weights:
        return {name: self._to_device(value) for name, value in arrays.items()}
