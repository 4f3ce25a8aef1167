"""Optimizers: update rules over Ops, written once for every framework.

A rule updates one array elementwise from its gradient, its slots and the step's numbers: the
learning rate, and for Adam its two corrections. Those are computed on the host in float64, for
1 - 0.999^t would lose most of its digits in float32. Nothing here knows models or schedules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lockstep.spec.parts import Adam

if TYPE_CHECKING:
    from lockstep.ops import Array, Ops, Weights
    from lockstep.spec.parts import OptimizerPart

Slots = dict[str, Any]
Numbers = Sequence[Any]
Update = Callable[..., tuple[Any, Slots]]


@dataclass(frozen=True)
class Rule:
    """An update function and the names of the slots it keeps beside each weight."""

    slots: tuple[str, ...]
    update: Update


def _sgd(ops: Ops, o: Any, w: Array, g: Array, s: Slots, n: Numbers) -> tuple[Array, Slots]:
    return w - n[0] * g, {}


def _momentum(ops: Ops, o: Any, w: Array, g: Array, s: Slots, n: Numbers) -> tuple[Array, Slots]:
    velocity = o.momentum * s["velocity"] + g
    return w - n[0] * velocity, {"velocity": velocity}


def _nesterov(ops: Ops, o: Any, w: Array, g: Array, s: Slots, n: Numbers) -> tuple[Array, Slots]:
    velocity = o.momentum * s["velocity"] + g
    return w - n[0] * (g + o.momentum * velocity), {"velocity": velocity}


def _adagrad(ops: Ops, o: Any, w: Array, g: Array, s: Slots, n: Numbers) -> tuple[Array, Slots]:
    total = s["sum_squares"] + g * g
    return w - n[0] * (g / (ops.sqrt(total) + o.eps)), {"sum_squares": total}


def _rmsprop(ops: Ops, o: Any, w: Array, g: Array, s: Slots, n: Numbers) -> tuple[Array, Slots]:
    squares = o.decay * s["mean_squares"] + (1 - o.decay) * (g * g)
    return w - n[0] * (g / (ops.sqrt(squares) + o.eps)), {"mean_squares": squares}


def _adadelta(ops: Ops, o: Any, w: Array, g: Array, s: Slots, n: Numbers) -> tuple[Array, Slots]:
    squares = o.decay * s["mean_squares"] + (1 - o.decay) * (g * g)
    delta = g * (ops.sqrt(s["mean_deltas"] + o.eps) / ops.sqrt(squares + o.eps))
    deltas = o.decay * s["mean_deltas"] + (1 - o.decay) * (delta * delta)
    return w - n[0] * delta, {"mean_squares": squares, "mean_deltas": deltas}


def _adam_direction(ops: Ops, o: Any, g: Array, s: Slots, n: Numbers) -> tuple[Array, Slots]:
    mean = o.beta1 * s["mean"] + (1 - o.beta1) * g
    squares = o.beta2 * s["mean_squares"] + (1 - o.beta2) * (g * g)
    corrected = ops.sqrt(squares / n[2]) + o.eps
    return (mean / n[1]) / corrected, {"mean": mean, "mean_squares": squares}


def _adam(ops: Ops, o: Any, w: Array, g: Array, s: Slots, n: Numbers) -> tuple[Array, Slots]:
    direction, slots = _adam_direction(ops, o, g, s, n)
    return w - n[0] * direction, slots


def _adamw(ops: Ops, o: Any, w: Array, g: Array, s: Slots, n: Numbers) -> tuple[Array, Slots]:
    direction, slots = _adam_direction(ops, o, g, s, n)
    return w - n[0] * (direction + o.weight_decay * w), slots


RULES = {
    "sgd": Rule((), _sgd),
    "momentum": Rule(("velocity",), _momentum),
    "nesterov": Rule(("velocity",), _nesterov),
    "adagrad": Rule(("sum_squares",), _adagrad),
    "rmsprop": Rule(("mean_squares",), _rmsprop),
    "adadelta": Rule(("mean_squares", "mean_deltas"), _adadelta),
    "adam": Rule(("mean", "mean_squares"), _adam),
    "adamw": Rule(("mean", "mean_squares"), _adamw),
}


def slot_names(optimizer: OptimizerPart) -> tuple[str, ...]:
    """The slots an optimizer keeps beside each weight.

    >>> from lockstep.spec import Adam
    >>> slot_names(Adam())
    ('mean', 'mean_squares')
    """
    return RULES[optimizer.kind].slots


def step_numbers(optimizer: OptimizerPart, lrs: np.ndarray, first_step: int) -> np.ndarray:
    """The numbers of steps first_step, first_step + 1 ...: (n, 1), or (n, 3) for Adam and AdamW.

    Columns: lr, 1 - beta1^t, 1 - beta2^t, with t = step + 1.

    >>> from lockstep.spec import SGD
    >>> step_numbers(SGD(), np.array([0.5, 0.25]), 0).tolist()
    [[0.5], [0.25]]
    """
    columns = [np.asarray(lrs, np.float64)]
    if isinstance(optimizer, Adam):
        t = np.arange(first_step + 1, first_step + 1 + len(lrs), dtype=np.float64)
        columns += [1 - optimizer.beta1**t, 1 - optimizer.beta2**t]
    return np.stack(columns, axis=1)


def global_norm(ops: Ops, grads: Weights) -> Array:
    """sqrt of the sum of the squares of every entry of every gradient."""
    sums = [ops.sum(g * g) for g in grads.values()]
    return ops.sqrt(sum(sums[1:], sums[0]))


def clip(ops: Ops, optimizer: OptimizerPart, grads: Weights) -> tuple[Weights, Array]:
    """Clipped gradients and the norm they had before.

    By value first: g in [-c, c]; then by global norm: g * min(1, c / norm).
    """
    norm = global_norm(ops, grads)
    if optimizer.clip_value:
        limit = optimizer.clip_value
        grads = {n: ops.minimum(ops.maximum(g, -limit), limit) for n, g in grads.items()}
    if optimizer.clip_norm:
        size = global_norm(ops, grads) if optimizer.clip_value else norm
        scale = optimizer.clip_norm / ops.maximum(size, optimizer.clip_norm)
        grads = {n: g * scale for n, g in grads.items()}
    return grads, norm


def update(
    ops: Ops,
    optimizer: OptimizerPart,
    weights: Weights,
    grads: Weights,
    slots: Weights,
    numbers: Numbers,
) -> tuple[Weights, Weights]:
    """One update of every weight: new weights and new slots (keyed "slot/weight")."""
    rule = RULES[optimizer.kind]
    decay = 0.0 if optimizer.kind == "adamw" else optimizer.weight_decay
    new_weights: Weights = {}
    new_slots: Weights = {}
    for name, w in weights.items():
        g = grads[name] + decay * w if decay else grads[name]
        own = {slot: slots[f"{slot}/{name}"] for slot in rule.slots}
        new_weights[name], new_own = rule.update(ops, optimizer, w, g, own, numbers)
        new_slots |= {f"{slot}/{name}": value for slot, value in new_own.items()}
    return new_weights, new_slots
