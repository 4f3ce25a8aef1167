"""One training step and one evaluation as pure functions over Ops, built from a task and a spec.

Adapters call them or compile them; no adapter has a step of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lockstep import optimizers
from lockstep.frameworks.device_share import Part, Share, WholeBatch, mean
from lockstep.frameworks.micro_batches import Summed, summed
from lockstep.ops import Array, Ops, Snapshot, Weights

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task

Step = Callable[..., tuple[Weights, Weights, Weights, Array, Array]]
Call = Callable[[Weights, Array, Weights], tuple[Array, Weights]]  # w, x, carry
Update = Callable[..., tuple[Weights, Weights]]  # w, grads, slots, numbers, t


def make_step(
    ops: Ops,
    task: Task,
    spec: RunSpec,
    call: Call | None = None,
    update: Update | None = None,
    share: Share | None = None,
    in_parts: Summed = summed,
) -> Step:
    """step(weights, slots, carry, data, rows, numbers, t) -> weights, slots, carry, loss, norm.

    `call` is the model (the task's own unless given), `update` the optimizer (the rules over Ops
    unless given), `share` this device's share among several, `in_parts` how its micro-batches
    are summed. `t` is the step's number, for
    optimizers that count steps.
    """
    share = share or WholeBatch(ops)
    update = update or rule_update(ops, spec)
    gradient = make_gradient(ops, task, call, share, spec.micro_batches, in_parts)

    def step(
        w: Weights,
        slots: Weights,
        carry: Weights,
        data: Weights,
        rows: Array,
        numbers: Any,
        t: Any,
    ) -> tuple[Weights, Weights, Weights, Array, Array]:
        loss, carry, grads = gradient(w, carry, data, share.split(rows))
        grads, norm = optimizers.clip(ops, spec.optimizer, grads)
        w, slots = update(w, grads, slots, numbers, t)
        return w, slots, carry, loss, norm

    return step


def make_gradient(
    ops: Ops,
    task: Task,
    call: Call | None,
    share: Share,
    micro_batches: int,
    in_parts: Summed = summed,
) -> Callable[..., tuple[Array, Weights, Weights]]:
    """gradient(weights, carry, data, part) -> loss, carry, gradients of the whole batch, computed
    in so many parts."""
    call = call or model_call(ops, task)

    def batch_loss(
        w: Weights, carry: Weights, x: Array, y: Array, *weights: Array
    ) -> tuple[Array, Weights]:
        outputs, carry = call(w, x, carry)
        return mean(ops, task.losses(ops, outputs, y), weights), carry

    # parts are summed first on each device, then once over the devices
    with_gradient = (share if micro_batches == 1 else WholeBatch(ops)).value_and_grad(batch_loss)

    def gradient(
        w: Weights, carry: Weights, data: Weights, part: Part
    ) -> tuple[Array, Weights, Weights]:
        def of_part(i: int, own: Part, begin: Weights) -> tuple[Array, Weights, Weights]:
            x, y = task.batch(ops, data, own.rows)
            (loss, after), grads = with_gradient(w, begin, x, y, *loss_factors(ops, data, own))
            return loss, after, grads

        start = start_carry(ops, task, share, carry, part)
        if micro_batches == 1:
            loss, after, grads = of_part(0, part, start)
        else:
            found = in_parts(ops, part, start, micro_batches, of_part)
            loss, after, grads = share.sum(*found)
        return loss, after if task.carries_state else carry, grads

    return gradient


def make_sums(
    ops: Ops, task: Task, call: Call | None = None, share: Share | None = None
) -> Callable[..., tuple[Array, Array]]:
    """sums(weights, data, rows) -> sum of losses, number correct (0 for regression), of a share.

    With own metrics the second is an array: the number correct, then the sum of each metric."""
    call, share = call or model_call(ops, task), share or WholeBatch(ops)

    def sums(w: Weights, data: Weights, rows: Array) -> tuple[Array, Array]:
        part = share.split(rows)
        x, y = task.batch(ops, data, part.rows)
        outputs, _ = call(w, x, zero_carry(ops, task, part.rows.shape[0]))
        loss = part.sum(ops, task.losses(ops, outputs, y), _own_weights(ops, data, part))
        correct = part.sum(ops, task.correct(ops, outputs, y)) if task.classifies else loss * 0
        if not task.metrics:
            return loss, correct
        found = [part.sum(ops, metric(ops, outputs, y)) for metric in task.metrics.values()]
        return loss, ops.concat([ops.reshape(value, (1,)) for value in (correct, *found)])

    return sums


def loss_factors(ops: Ops, data: Weights, part: Part) -> tuple[Array, ...]:
    """The factor of each loss in the mean over the batch: (m,), or (T, m) where the data has
    weights; none where all are the same."""
    own = _own_weights(ops, data, part)
    if own is None:
        return part.weights(ops)
    return (own / part.count if part.mask is None else own * (part.mask / part.count),)


def _own_weights(ops: Ops, data: Weights, part: Part) -> Array | None:
    """The weights that the losses of a part's rows have in the data, time first: (T, m)."""
    if "weight" not in data:
        return None
    return ops.transpose(ops.take(data["weight"], part.rows), (1, 0))


def model_call(ops: Ops, task: Task) -> Call:
    """The task's own model over Ops."""

    def call(w: Weights, x: Array, carry: Weights) -> tuple[Array, Weights]:
        return task.model.apply(ops, w, x, carry)

    return call


def rule_update(ops: Ops, spec: RunSpec) -> Update:
    """The optimizer's rule over Ops."""

    def update(
        w: Weights, grads: Weights, slots: Weights, numbers: Any, t: Any
    ) -> tuple[Weights, Weights]:
        return optimizers.update(ops, spec.optimizer, w, grads, slots, numbers)

    return update


def start_carry(ops: Ops, task: Task, share: Share, carry: Weights, part: Part) -> Weights:
    """The recurrent state that a part of a batch begins with."""
    return share.carry(carry) if task.carries_state else zero_carry(ops, task, part.rows.shape[0])


def zero_carry(ops: Ops, task: Task, batch_size: int) -> Weights:
    """The recurrent state at the start of a text."""
    return {name: ops.zeros(shape) for name, shape in task.model.carry_shapes(batch_size).items()}


def initial_snapshot(task: Task, spec: RunSpec) -> Callable[[], Snapshot]:
    """Where a run of the task's own model starts: canonical weights drawn from the seed."""
    return lambda: Snapshot(task.model.initial_weights(spec.seed))
