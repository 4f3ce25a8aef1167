"""A run's state as a framework holds it, and the way to canonical arrays and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from lockstep.frameworks.layout import Layout
from lockstep.ops import Array, Arrays, Ops, Snapshot, Weights

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


Held = Any  # Weights; where a program keeps several devices apart, a tuple of them, one for each
Hold = Callable[[np.ndarray], Array]


class DeviceState(NamedTuple):
    """Weights, optimizer slots and carried state as the framework's own arrays."""

    weights: Held
    slots: Held
    carry: Held


class StateKeeper(Protocol):
    """What a program needs to hold its state and its data."""

    def load(self, snapshot: Snapshot) -> DeviceState: ...
    def dump(self, state: DeviceState) -> Snapshot: ...
    def restart_carry(self, state: DeviceState) -> DeviceState: ...
    def data(self) -> dict[str, Held]:
        """Every split's arrays as the framework's own, put there once."""


class States:
    """The state on one device, in arrays of the given layout.

    `hold` makes an array of the framework's from one of NumPy's, and `hold_data` one that is only
    read: that of the Ops unless given.
    """

    def __init__(
        self,
        ops: Ops,
        task: Task,
        spec: RunSpec,
        layout: Layout | None = None,
        *,
        hold: Hold | None = None,
        hold_data: Hold | None = None,
    ) -> None:
        self._ops, self._task, self._spec = ops, task, spec
        self._layout = layout or Layout()
        self._hold, self._hold_data = hold or ops.asarray, hold_data or ops.asarray

    def load(self, snapshot: Snapshot) -> DeviceState:
        full = self._task.complete(snapshot, self._spec)
        weights = self._layout.to_native(full.weights)
        slots = self._layout.slots_to_native(full.slots)
        return DeviceState(*(self._held(group) for group in (weights, slots, full.carry)))

    def dump(self, state: DeviceState) -> Snapshot:
        weights, slots, carry = (self.canonical(group) for group in state)
        weights = self._layout.from_native(weights)
        return Snapshot(weights, self._layout.slots_from_native(slots), carry)

    def restart_carry(self, state: DeviceState) -> DeviceState:
        shapes = self._task.model.carry_shapes(self._spec.batch_size)
        return state._replace(carry=self._held({n: np.zeros(s) for n, s in shapes.items()}))

    def data(self) -> dict[str, Weights]:
        return {
            split: {name: self._hold_data(value) for name, value in arrays.items()}
            for split, arrays in self._task.splits.items()
        }

    def canonical(self, held: Weights) -> Arrays:
        """Copies in NumPy."""
        return {name: np.array(self._ops.to_numpy(value)) for name, value in held.items()}

    def _held(self, arrays: Arrays) -> Weights:
        return {name: self._hold(value) for name, value in arrays.items()}
