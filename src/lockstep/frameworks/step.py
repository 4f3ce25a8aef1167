"""One training step and one evaluation as pure functions over Ops, built from a task and a spec.

Adapters loop over them, or compile them; none writes its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lockstep import optimizers
from lockstep.frameworks.protocol import Snapshot
from lockstep.models.losses import num_correct

if TYPE_CHECKING:
    from lockstep.frameworks.protocol import Array, Ops, Weights
    from lockstep.spec import RunSpec
    from lockstep.task import Task

Step = Callable[..., tuple["Weights", "Weights", "Weights", "Array", "Array"]]


def make_step(ops: Ops, task: Task, spec: RunSpec) -> Step:
    """step(weights, slots, carry, data, rows, numbers, t) -> weights, slots, carry, loss, norm.

    `t` is the step's number, for those who count themselves; the rules here need none.
    """

    def batch_loss(w: Weights, carry: Weights, x: Array, y: Array) -> tuple[Array, Weights]:
        outputs, carry = task.model.apply(ops, w, x, carry)
        return ops.mean(task.loss(ops, outputs, y)), carry

    gradient = ops.value_and_grad(batch_loss)

    def step(
        w: Weights,
        slots: Weights,
        carry: Weights,
        data: Weights,
        rows: Array,
        numbers: Any,
        t: Any,
    ) -> tuple[Weights, Weights, Weights, Array, Array]:
        x, y = task.batch(ops, data, rows)
        (loss, carry), grads = gradient(w, carry if task.carries_state else zeros(rows), x, y)
        grads, norm = optimizers.clip(ops, spec.optimizer, grads)
        w, slots = optimizers.update(ops, spec.optimizer, w, grads, slots, numbers)
        return w, slots, carry, loss, norm

    def zeros(rows: Array) -> Weights:
        return zero_carry(ops, task, rows.shape[0])

    return step


def make_sums(ops: Ops, task: Task) -> Callable[..., tuple[Array, Array]]:
    """sums(weights, data, rows) -> sum of losses, number correct (0 for regression)."""

    def sums(w: Weights, data: Weights, rows: Array) -> tuple[Array, Array]:
        x, y = task.batch(ops, data, rows)
        outputs, _ = task.model.apply(ops, w, x, zero_carry(ops, task, rows.shape[0]))
        loss = ops.sum(task.loss(ops, outputs, y))
        return loss, num_correct(ops, outputs, y) if task.classifies else loss * 0

    return sums


def zero_carry(ops: Ops, task: Task, batch_size: int) -> Weights:
    """The recurrent state at the start of a text."""
    return {name: ops.zeros(shape) for name, shape in task.model.carry_shapes(batch_size).items()}


def initial_snapshot(task: Task, spec: RunSpec) -> Callable[[], Snapshot]:
    """Where a run of the task's own model starts: canonical weights drawn from the seed."""
    return lambda: Snapshot(task.model.initial_weights(spec.seed))
