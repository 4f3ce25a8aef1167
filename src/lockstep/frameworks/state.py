"""A run's state as a framework holds it, and the way to canonical arrays and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lockstep.frameworks.layout import Layout
from lockstep.frameworks.protocol import Arrays, Ops, Snapshot, Weights
from lockstep.frameworks.step import zero_carry

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


class DeviceState(NamedTuple):
    """Weights, optimizer slots and carried state as the framework's own arrays."""

    weights: Weights
    slots: Weights
    carry: Weights


class States:
    """`load`, `dump` and `restart_carry` of a program whose arrays have the given layout."""

    def __init__(self, ops: Ops, task: Task, spec: RunSpec, layout: Layout | None = None) -> None:
        self._ops, self._task, self._spec = ops, task, spec
        self._layout = layout or Layout()

    def load(self, snapshot: Snapshot) -> DeviceState:
        full = self._task.complete(snapshot, self._spec)
        weights = self._layout.to_native(full.weights)
        slots = self._layout.slots_to_native(full.slots)
        return DeviceState(*(self._held(group) for group in (weights, slots, full.carry)))

    def dump(self, state: DeviceState) -> Snapshot:
        weights, slots, carry = (self._canonical(group) for group in state)
        weights = self._layout.from_native(weights)
        return Snapshot(weights, self._layout.slots_from_native(slots), carry)

    def restart_carry(self, state: DeviceState) -> DeviceState:
        return state._replace(carry=zero_carry(self._ops, self._task, self._spec.batch_size))

    def _held(self, arrays: Arrays) -> Weights:
        return {name: self._ops.asarray(value) for name, value in arrays.items()}

    def _canonical(self, held: Weights) -> Arrays:
        return {name: np.array(self._ops.to_numpy(value)) for name, value in held.items()}
