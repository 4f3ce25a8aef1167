"""Several devices in one process, each with a replica of the state.

Each device computes the gradient of its rows of a batch. Parameter i is summed on device i mod k,
so that the work is shared, in the order of the devices, so that repeated runs are equal bit for
bit; every device gets a copy of the sum, clips, and updates its own replica.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lockstep import optimizers
from lockstep.frameworks.device_share import Part, WholeBatch
from lockstep.frameworks.layout import Layout
from lockstep.frameworks.programs import StepProgram
from lockstep.frameworks.state import DeviceState, States
from lockstep.frameworks.step import (
    Call,
    Step,
    Update,
    make_gradient,
    make_sums,
    rule_update,
    zero_carry,
)
from lockstep.ops import Array, Ops, Snapshot, Weights
from lockstep.processes.splitting import shard_slices

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task

# weights, carry, data, own rows, size of the batch -> what these rows add to its loss, carry, grads
Gradient = Callable[..., tuple[Array, Weights, Weights]]
# weights, grads, slots, numbers, t -> weights, slots, and the norm of the gradients
ClippedUpdate = Callable[..., tuple[Weights, Weights, Array]]
Sums = Callable[..., tuple[Array, Array]]  # weights, data, own rows -> sums over them
OnDevice = Callable[[], AbstractContextManager[Any]]
COPIES = "in one process: a copy of the arrays for each"


@dataclass(frozen=True)
class Replica:
    """One device. `to_device(x)` is a copy of x in its own memory, never an alias; arrays made
    within `on_device()` are made on it. Replicas with the same `ops` are copies on one device:
    they share the data, which is only read."""

    ops: Ops
    to_device: Callable[[Array], Array]
    gradient: Gradient
    update: ClippedUpdate
    sums: Sums
    on_device: OnDevice = nullcontext


def make_replica(
    ops: Ops,
    task: Task,
    spec: RunSpec,
    to_device: Callable[[Array], Array],
    *,
    on_device: OnDevice = nullcontext,
    call: Call | None = None,
    evaluation: Call | None = None,
    update: Update | None = None,
    sums: Sums | None = None,
) -> Replica:
    """A device that computes over `ops`: the task's model and optimizer unless others are given."""
    gradient = make_gradient(ops, task, call, WholeBatch(ops), spec.micro_batches)

    def own_gradient(
        w: Weights, carry: Weights, data: Weights, rows: Array, count: int
    ) -> tuple[Array, Weights, Weights]:
        return gradient(w, carry, data, Part(rows, count))

    return Replica(
        ops,
        to_device,
        own_gradient,
        clipped_update(ops, spec, update or rule_update(ops, spec)),
        sums or make_sums(ops, task, evaluation or call),
        on_device,
    )


def clipped_update(ops: Ops, spec: RunSpec, update: Update) -> ClippedUpdate:
    """The update after clipping."""

    def clipped(
        w: Weights, grads: Weights, slots: Weights, numbers: Any, t: Any
    ) -> tuple[Weights, Weights, Array]:
        grads, norm = optimizers.clip(ops, spec.optimizer, grads)
        return *update(w, grads, slots, numbers, t), norm

    return clipped


# --- a step and an evaluation on all of them ------------------------------------------------------


def make_replicated_step(replicas: Sequence[Replica]) -> Step:
    """The step of step.py over tuples, with one entry for each device."""

    def step(
        weights: tuple[Weights, ...],
        slots: tuple[Weights, ...],
        carry: tuple[Weights, ...],
        data: tuple[Weights, ...],
        rows: Array,
        numbers: Any,
        t: Any,
    ) -> Any:
        after, losses, grads = list(carry), {}, {}
        for i, own in _split_rows(replicas, rows).items():
            with replicas[i].on_device():
                found = replicas[i].gradient(weights[i], carry[i], data[i], own, rows.shape[0])
            losses[i], after[i], grads[i] = found
        summed = _summed_gradients(replicas, grads)
        updated = []
        for i, replica in enumerate(replicas):
            with replica.on_device():
                own = _numbers_on(replica, numbers)
                updated.append(replica.update(weights[i], summed[i], slots[i], own, t))
        new_weights, new_slots, norms = zip(*updated, strict=True)
        return new_weights, new_slots, tuple(after), _sum_on(replicas, 0, losses), norms[0]

    return step


def _numbers_on(replica: Replica, numbers: Any) -> Any:
    """The numbers of a step with the noise, where the optimizer adds some, on this device."""
    if not isinstance(numbers, list | tuple) or not isinstance(numbers[-1], dict):
        return numbers
    return [*numbers[:-1], {n: replica.to_device(value) for n, value in numbers[-1].items()}]


def make_replicated_sums(replicas: Sequence[Replica]) -> Sums:
    """sums(weights, data, rows) over tuples: every device evaluates its rows of each batch."""

    def sums(
        weights: tuple[Weights, ...], data: tuple[Weights, ...], rows: Array
    ) -> tuple[Array, Array]:
        losses, corrects = {}, {}
        for i, own in _split_rows(replicas, rows).items():
            with replicas[i].on_device():
                losses[i], corrects[i] = replicas[i].sums(weights[i], data[i], own)
        return _sum_on(replicas, 0, losses), _sum_on(replicas, 0, corrects)

    return sums


def _split_rows(replicas: Sequence[Replica], rows: Array) -> dict[int, Array]:
    """The rows of every device that has some."""
    found = {}
    for i, part in enumerate(shard_slices(rows.shape[0], len(replicas))):
        if part.stop > part.start:
            with replicas[i].on_device():
                found[i] = replicas[i].to_device(rows[part])
    return found


def _summed_gradients(replicas: Sequence[Replica], grads: Mapping[int, Weights]) -> list[Weights]:
    """Each device's own copy of the gradients summed over all devices."""
    copies: list[Weights] = [{} for _ in replicas]
    for number, name in enumerate(next(iter(grads.values()))):
        home = number % len(replicas)
        total = _sum_on(replicas, home, {i: own[name] for i, own in grads.items()})
        for i, replica in enumerate(replicas):
            with replica.on_device():
                copies[i][name] = total if i == home else replica.to_device(total)
    return copies


def _sum_on(replicas: Sequence[Replica], home: int, values: Mapping[int, Array]) -> Array:
    """The sum of what the devices have, on one of them, in the order of the devices."""
    with replicas[home].on_device():
        own = [v if i == home else replicas[home].to_device(v) for i, v in values.items()]
        return sum(own[1:], own[0])


# --- their state and their program ----------------------------------------------------------------


class ReplicatedStates:
    """The state as tuples: whole weights and slots on each device, and the carried state of the
    device's own rows, none where there are no rows."""

    def __init__(
        self, replicas: Sequence[Replica], task: Task, spec: RunSpec, layout: Layout | None = None
    ) -> None:
        self._replicas, self._task = replicas, task
        self._states = [
            States(replica.ops, task, spec, layout, to_device=_numpy_to_device(replica))
            for replica in replicas
        ]
        self._parts = shard_slices(spec.batch_size, len(replicas))

    def load(self, snapshot: Snapshot) -> DeviceState:
        loaded = []
        for replica, states, part in zip(self._replicas, self._states, self._parts, strict=True):
            with replica.on_device():
                state = states.load(snapshot)
                own = {n: h[part] for n, h in state.carry.items()} if part.stop > part.start else {}
                loaded.append(state._replace(carry=own))
        return DeviceState(*zip(*loaded, strict=True))

    def dump(self, state: DeviceState) -> Snapshot:
        first = self._states[0].dump(DeviceState(state.weights[0], state.slots[0], {}))
        parts = [s.canonical(c) for s, c in zip(self._states, state.carry, strict=True) if c]
        names = parts[0] if parts else ()
        carry = {name: np.concatenate([own[name] for own in parts]) for name in names}
        return Snapshot(first.weights, first.slots, carry)

    def restart_carry(self, state: DeviceState) -> DeviceState:
        carry = []
        for replica, part in zip(self._replicas, self._parts, strict=True):
            with replica.on_device():
                size = part.stop - part.start
                carry.append(zero_carry(replica.ops, self._task, size) if size else {})
        return state._replace(carry=tuple(carry))

    def data(self) -> dict[str, tuple[Weights, ...]]:
        loaded: dict[int, dict[str, Weights]] = {}  # replicas over one Ops read the same data
        for replica, states in zip(self._replicas, self._states, strict=True):
            if id(replica.ops) not in loaded:
                with replica.on_device():
                    loaded[id(replica.ops)] = states.data()
        own = [loaded[id(replica.ops)] for replica in self._replicas]
        return {split: tuple(data[split] for data in own) for split in self._task.splits}


def _numpy_to_device(replica: Replica) -> Callable[[np.ndarray], Array]:
    return lambda value: replica.to_device(replica.ops.asarray(value))


def replicated_program(
    replicas: Sequence[Replica], task: Task, spec: RunSpec, notes: tuple[str, ...]
) -> StepProgram:
    """The program of the task's own model on these devices, step by step."""
    return StepProgram(
        replicas[0].ops,
        task,
        spec,
        step=make_replicated_step(replicas),
        sums=make_replicated_sums(replicas),
        states=ReplicatedStates(replicas, task, spec),
        notes=notes,
    )


def copies_program(
    replica: Replica, task: Task, spec: RunSpec, notes: tuple[str, ...]
) -> StepProgram:
    """The program for frameworks that have no second device: a copy of the state for each, in the
    same memory, computed one after the other. It shows what several devices compute, not how fast.
    """
    note = f"{spec.devices} devices {COPIES}, computed in turn"
    return replicated_program([replica] * spec.devices, task, spec, (*notes, note))
