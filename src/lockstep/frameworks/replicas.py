"""Several devices in one process, each with a replica of the state, for frameworks that hold them
side by side.

Each device computes the gradient of its rows of a batch. Parameter i is summed on device i mod k,
so that the work is shared, in the order of the devices, so that repeated runs are equal bit for
bit; every device gets a copy of the sum, clips, and updates its own replica.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lockstep import optimizers
from lockstep.frameworks.share import Part, Whole
from lockstep.frameworks.step import Call, Step, Update, make_gradient, make_sums, rule_update
from lockstep.ops import Array, Ops, Weights
from lockstep.processes.splitting import shard_slices

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task

# weights, carry, data, own rows, size of the batch -> what these rows add to its loss, carry, grads
Gradient = Callable[..., tuple[Array, Weights, Weights]]
# weights, grads, slots, numbers, t -> weights, slots, and the norm of the gradients
ClippedUpdate = Callable[..., tuple[Weights, Weights, Array]]
Sums = Callable[..., tuple[Array, Array]]  # weights, data, own rows -> sums over them
Here = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Replica:
    """One device. `receive(x)` is a copy of x in its own memory, never an alias; what is made
    within `here()` is made on it. Replicas over the same `ops` stand for devices that are not
    there: they share the data, which is only read."""

    ops: Ops
    receive: Callable[[Array], Array]
    gradient: Gradient
    update: ClippedUpdate
    sums: Sums
    here: Here = nullcontext


def make_replica(
    ops: Ops,
    task: Task,
    spec: RunSpec,
    receive: Callable[[Array], Array],
    *,
    here: Here = nullcontext,
    call: Call | None = None,
    evaluation: Call | None = None,
    update: Update | None = None,
    sums: Sums | None = None,
) -> Replica:
    """A device that computes over `ops`: the task's model and optimizer unless others are given."""
    share = Whole(ops)  # of its own rows
    gradient = make_gradient(ops, task, call, share)

    def own_gradient(
        w: Weights, carry: Weights, data: Weights, rows: Array, count: int
    ) -> tuple[Array, Weights, Weights]:
        return gradient(w, carry, data, Part(rows, count))

    return Replica(
        ops,
        receive,
        own_gradient,
        clipped_update(ops, spec, update or rule_update(ops, spec)),
        sums or make_sums(ops, task, evaluation or call),
        here,
    )


def clipped_update(ops: Ops, spec: RunSpec, update: Update) -> ClippedUpdate:
    """The update after clipping."""

    def clipped(
        w: Weights, grads: Weights, slots: Weights, numbers: Any, t: Any
    ) -> tuple[Weights, Weights, Array]:
        grads, norm = optimizers.clip(ops, spec.optimizer, grads)
        return *update(w, grads, slots, numbers, t), norm

    return clipped


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
        for i, own in _own_rows(replicas, rows).items():
            with replicas[i].here():
                found = replicas[i].gradient(weights[i], carry[i], data[i], own, rows.shape[0])
            losses[i], after[i], grads[i] = found
        summed = _exchanged(replicas, grads)
        updated = []
        for i, replica in enumerate(replicas):
            with replica.here():
                updated.append(replica.update(weights[i], summed[i], slots[i], numbers, t))
        new_weights, new_slots, norms = zip(*updated, strict=True)
        return new_weights, new_slots, tuple(after), _total(replicas, 0, losses), norms[0]

    return step


def make_replicated_sums(replicas: Sequence[Replica]) -> Sums:
    """sums(weights, data, rows) over tuples: every device evaluates its rows of each batch."""

    def sums(
        weights: tuple[Weights, ...], data: tuple[Weights, ...], rows: Array
    ) -> tuple[Array, Array]:
        losses, corrects = {}, {}
        for i, own in _own_rows(replicas, rows).items():
            with replicas[i].here():
                losses[i], corrects[i] = replicas[i].sums(weights[i], data[i], own)
        return _total(replicas, 0, losses), _total(replicas, 0, corrects)

    return sums


def _own_rows(replicas: Sequence[Replica], rows: Array) -> dict[int, Array]:
    """The rows of every device that has some."""
    found = {}
    for i, part in enumerate(shard_slices(rows.shape[0], len(replicas))):
        if part.stop > part.start:
            with replicas[i].here():
                found[i] = replicas[i].receive(rows[part])
    return found


def _exchanged(replicas: Sequence[Replica], grads: Mapping[int, Weights]) -> list[Weights]:
    """Each device's own copy of the gradients summed over all devices."""
    copies: list[Weights] = [{} for _ in replicas]
    for number, name in enumerate(next(iter(grads.values()))):
        home = number % len(replicas)
        total = _total(replicas, home, {i: own[name] for i, own in grads.items()})
        for i, replica in enumerate(replicas):
            with replica.here():
                copies[i][name] = total if i == home else replica.receive(total)
    return copies


def _total(replicas: Sequence[Replica], home: int, values: Mapping[int, Array]) -> Array:
    """The sum of what the devices have, on one of them, in the order of the devices."""
    with replicas[home].here():
        own = [v if i == home else replicas[home].receive(v) for i, v in values.items()]
        return sum(own[1:], own[0])
