"""Programs on replicas: their state, and how their devices came about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from lockstep.errors import InputError
from lockstep.frameworks.eager import EagerProgram
from lockstep.frameworks.layout import Layout
from lockstep.frameworks.replicas import (
    Replica,
    make_replica,
    make_replicated_step,
    make_replicated_sums,
)
from lockstep.frameworks.state import DeviceState, States
from lockstep.frameworks.step import zero_carry
from lockstep.ops import Array, Ops, Snapshot, Weights
from lockstep.processes.splitting import shard_slices

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task

COPIES = "in one process: a copy of the arrays for each"


class ReplicatedStates:
    """The state as tuples: whole weights and slots on each device, and the carried state of the
    device's own rows, none where there are no rows."""

    def __init__(
        self, replicas: Sequence[Replica], task: Task, spec: RunSpec, layout: Layout | None = None
    ) -> None:
        self._replicas, self._task = replicas, task
        self._states = [
            States(replica.ops, task, spec, layout, hold=_own_copy(replica)) for replica in replicas
        ]
        self._parts = shard_slices(spec.batch_size, len(replicas))

    def load(self, snapshot: Snapshot) -> DeviceState:
        loaded = []
        for replica, states, part in zip(self._replicas, self._states, self._parts, strict=True):
            with replica.here():
                state = states.load(snapshot)
                own = {n: h[part] for n, h in state.carry.items()} if part.stop > part.start else {}
                loaded.append(state._replace(carry=own))
        return DeviceState(*zip(*loaded, strict=True))

    def dump(self, state: DeviceState) -> Snapshot:
        first = self._states[0].dump(DeviceState(state.weights[0], state.slots[0], {}))
        held = [s.canonical(c) for s, c in zip(self._states, state.carry, strict=True) if c]
        names = held[0] if held else ()
        carry = {name: np.concatenate([own[name] for own in held]) for name in names}
        return Snapshot(first.weights, first.slots, carry)

    def restart_carry(self, state: DeviceState) -> DeviceState:
        carry = []
        for replica, part in zip(self._replicas, self._parts, strict=True):
            with replica.here():
                size = part.stop - part.start
                carry.append(zero_carry(replica.ops, self._task, size) if size else {})
        return state._replace(carry=tuple(carry))

    def data(self) -> dict[str, tuple[Weights, ...]]:
        held: dict[int, dict[str, Weights]] = {}  # replicas over one Ops read the same data
        for replica, states in zip(self._replicas, self._states, strict=True):
            if id(replica.ops) not in held:
                with replica.here():
                    held[id(replica.ops)] = states.data()
        own = [held[id(replica.ops)] for replica in self._replicas]
        return {split: tuple(data[split] for data in own) for split in self._task.splits}


def replicated_program(
    replicas: Sequence[Replica], task: Task, spec: RunSpec, notes: tuple[str, ...]
) -> EagerProgram:
    """The program of the task's own model on these devices, step by step."""
    return EagerProgram(
        replicas[0].ops,
        task,
        spec,
        step=make_replicated_step(replicas),
        sums=make_replicated_sums(replicas),
        states=ReplicatedStates(replicas, task, spec),
        notes=notes,
    )


def side_by_side(
    ops: Ops, task: Task, spec: RunSpec, copy: Callable[[Array], Array], notes: tuple[str, ...]
) -> EagerProgram:
    """The program of replicas that stand for devices: arrays of their own in the same memory,
    computed one after another."""
    replicas = [make_replica(ops, task, spec, copy)] * spec.devices
    return replicated_program(replicas, task, spec, (*notes, copies_note(spec)))


def copies_note(spec: RunSpec) -> str:
    """How devices that are not there are stood for."""
    return f"{spec.devices} devices {COPIES}, computed in turn"


def refuse_several(spec: RunSpec, what: str) -> None:
    """Raise for a run on several devices of what keeps its state inside."""
    if spec.devices > 1:
        raise InputError(
            "devices",
            spec.devices,
            f"{what} train on one device",
            "Use --style scratch, or --devices 1.",
        )


def _own_copy(replica: Replica) -> Callable[[np.ndarray], Array]:
    return lambda value: replica.receive(replica.ops.asarray(value))
