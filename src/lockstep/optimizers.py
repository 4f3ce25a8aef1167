"""Optimizers: update rules over Ops, written once for every framework.

A rule updates one array elementwise from its gradient, its slots and the numbers of the step: the
learning rate, for Adam its two corrections, for Langevin dynamics its noise. Those are computed on
the host in float64: 1 - 0.999^t would lose most of its digits in float32, and no framework draws
random numbers. Nothing here knows models or schedules.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lockstep.data.random import normal_rows
from lockstep.errors import InputError
from lockstep.spec import parts

if TYPE_CHECKING:
    from lockstep.ops import Array, Ops, Weights
    from lockstep.spec.parts import OptimizerPart

Slots = dict[str, Any]
# lr, then what the rule names: one row of `step_numbers`; last, if it adds noise, {weight: noise}
Numbers = Sequence[Any]
# (ops, options, w, g, slots, step) -> new w, new slots; `options` is the record of the spec
Update = Callable[["Ops", Any, "Array", "Array", Slots, Any], tuple["Array", Slots]]


@dataclass(frozen=True)
class Rule:
    """An update function, and what it keeps and needs.

    `slots` are the names of the arrays kept beside each weight, which start at zero. `numbers` are
    numbers of a step beside `lr`: each name with its function of (options, t), t = step + 1 in
    float64. The update reads them as `step.lr`, `step.<name>`. With `decays_gradient`, weight_decay
    times w is added to the gradient before the update; without, decay is the update's own task.
    `noise` is the standard deviation of normal noise, a function of (options, lrs); the update
    reads the noise itself, shaped as its array, as `step.noise`.
    """

    update: Update
    slots: tuple[str, ...] = ()
    numbers: Mapping[str, Callable[[Any, np.ndarray], np.ndarray]] = field(default_factory=dict)
    decays_gradient: bool = True
    noise: Callable[[Any, np.ndarray], np.ndarray] | None = None

    @cached_property
    def step(self) -> Any:
        """The numbers of a step, by name."""
        return namedtuple("Step", ("lr", *self.numbers, *(("noise",) if self.noise else ())))


def _sgd(ops: Ops, o: Any, w: Array, g: Array, slots: Slots, step: Any) -> tuple[Array, Slots]:
    return w - step.lr * g, {}


def _sgld(ops: Ops, o: Any, w: Array, g: Array, slots: Slots, step: Any) -> tuple[Array, Slots]:
    return w - step.lr * g + step.noise, {}


def _momentum(ops: Ops, o: Any, w: Array, g: Array, slots: Slots, step: Any) -> tuple[Array, Slots]:
    velocity = o.momentum * slots["velocity"] + g
    return w - step.lr * velocity, {"velocity": velocity}


def _nesterov(ops: Ops, o: Any, w: Array, g: Array, slots: Slots, step: Any) -> tuple[Array, Slots]:
    velocity = o.momentum * slots["velocity"] + g
    return w - step.lr * (g + o.momentum * velocity), {"velocity": velocity}


def _adagrad(ops: Ops, o: Any, w: Array, g: Array, slots: Slots, step: Any) -> tuple[Array, Slots]:
    total = slots["sum_squares"] + g * g
    return w - step.lr * (g / (ops.sqrt(total) + o.eps)), {"sum_squares": total}


def _rmsprop(ops: Ops, o: Any, w: Array, g: Array, slots: Slots, step: Any) -> tuple[Array, Slots]:
    squares = o.decay * slots["mean_squares"] + (1 - o.decay) * (g * g)
    return w - step.lr * (g / (ops.sqrt(squares) + o.eps)), {"mean_squares": squares}


def _adadelta(ops: Ops, o: Any, w: Array, g: Array, slots: Slots, step: Any) -> tuple[Array, Slots]:
    squares = o.decay * slots["mean_squares"] + (1 - o.decay) * (g * g)
    delta = g * (ops.sqrt(slots["mean_deltas"] + o.eps) / ops.sqrt(squares + o.eps))
    deltas = o.decay * slots["mean_deltas"] + (1 - o.decay) * (delta * delta)
    return w - step.lr * delta, {"mean_squares": squares, "mean_deltas": deltas}


def _adam_direction(ops: Ops, o: Any, g: Array, slots: Slots, step: Any) -> tuple[Array, Slots]:
    mean = o.beta1 * slots["mean"] + (1 - o.beta1) * g
    squares = o.beta2 * slots["mean_squares"] + (1 - o.beta2) * (g * g)
    corrected = ops.sqrt(squares / step.correction2) + o.eps
    return (mean / step.correction1) / corrected, {"mean": mean, "mean_squares": squares}


def _adam(ops: Ops, o: Any, w: Array, g: Array, slots: Slots, step: Any) -> tuple[Array, Slots]:
    direction, slots = _adam_direction(ops, o, g, slots, step)
    return w - step.lr * direction, slots


def _adamw(ops: Ops, o: Any, w: Array, g: Array, slots: Slots, step: Any) -> tuple[Array, Slots]:
    direction, slots = _adam_direction(ops, o, g, slots, step)
    return w - step.lr * (direction + o.weight_decay * w), slots


_MOMENTS = ("mean", "mean_squares")
_CORRECTIONS = {  # for the moments' start at zero
    "correction1": lambda o, t: 1 - o.beta1**t,
    "correction2": lambda o, t: 1 - o.beta2**t,
}
RULES: dict[str, Rule] = {
    "sgd": Rule(_sgd),
    "momentum": Rule(_momentum, ("velocity",)),
    "nesterov": Rule(_nesterov, ("velocity",)),
    "adagrad": Rule(_adagrad, ("sum_squares",)),
    "rmsprop": Rule(_rmsprop, ("mean_squares",)),
    "adadelta": Rule(_adadelta, ("mean_squares", "mean_deltas")),
    "adam": Rule(_adam, _MOMENTS, _CORRECTIONS),
    "adamw": Rule(_adamw, _MOMENTS, _CORRECTIONS, decays_gradient=False),
    "sgld": Rule(_sgld, noise=lambda o, lrs: np.sqrt(2 * lrs * o.temperature)),
}


def add(part: type[OptimizerPart], rule: Rule) -> None:
    """Make an optimizer known: its record of fields, by `kind`, and its rule.

    >>> from lockstep.spec.parts import SGD
    >>> add(SGD, Rule(lambda ops, o, w, g, slots, step: (w - step.lr * ops.tanh(g), {})))
    Traceback (most recent call last):
    ...
    lockstep.errors.InputError: optimizer.kind = 'sgd': has a rule already. Give it another kind.
    """
    if not issubclass(part, parts.OptimizerPart):
        remedy = "Derive it from spec.parts.OptimizerPart."
        raise InputError("optimizer", part.__name__, "has no decay and clipping", remedy)
    before = RULES.get(part.kind, rule).update
    if (before.__module__, before.__qualname__) != (
        rule.update.__module__,
        rule.update.__qualname__,
    ):
        problem, remedy = "has a rule already", "Give it another kind."
        raise InputError("optimizer.kind", part.kind, problem, remedy)
    parts.add("optimizer", part)
    RULES[part.kind] = rule


def slot_names(optimizer: OptimizerPart) -> tuple[str, ...]:
    """The slots an optimizer keeps beside each weight.

    >>> from lockstep.spec import Adam
    >>> slot_names(Adam())
    ('mean', 'mean_squares')
    """
    return RULES[optimizer.kind].slots


def step_numbers(optimizer: OptimizerPart, lrs: np.ndarray, first_step: int) -> np.ndarray:
    """The numbers of steps first_step, first_step + 1 ..., a row for each: lr, and what the rule
    names. (n, 1), or (n, 3) for Adam and AdamW: lr, 1 - beta1^t, 1 - beta2^t, with t = step + 1.

    >>> from lockstep.spec import SGD
    >>> step_numbers(SGD(), np.array([0.5, 0.25]), 0).tolist()
    [[0.5], [0.25]]
    """
    t = np.arange(first_step + 1, first_step + 1 + len(lrs), dtype=np.float64)
    others = [number(optimizer, t) for number in RULES[optimizer.kind].numbers.values()]
    return np.stack([np.asarray(lrs, np.float64), *others], axis=1)


def adds_noise(optimizer: OptimizerPart) -> bool:
    """Whether the optimizer's steps need `step_noise` beside their numbers."""
    return RULES[optimizer.kind].noise is not None


def step_noise(
    optimizer: OptimizerPart,
    shapes: Mapping[str, tuple[int, ...]],
    seed: int,
    lrs: np.ndarray,
    first_step: int,
) -> dict[str, np.ndarray]:
    """The noise of steps first_step, first_step + 1 ... for weights of these shapes: (n, ...) each.

    It follows from the seed, the step and the shapes in their order: where a run is cut, in which
    framework it continues and on how many devices changes no number of it. {} for most optimizers.

    >>> from lockstep.spec import SGLD
    >>> noise = step_noise(SGLD(), {"w": (2, 3), "b": (3,)}, 0, np.full(4, 0.1), 7)
    >>> noise["w"].shape, noise["b"].shape
    ((4, 2, 3), (4, 3))
    """
    deviation = RULES[optimizer.kind].noise
    if deviation is None:
        return {}
    lrs = np.asarray(lrs, np.float64)
    ends = np.cumsum([math.prod(shape) for shape in shapes.values()])
    rows = normal_rows(seed, "optimizer noise", int(ends[-1]), first_step, len(lrs))
    parts = np.split(deviation(optimizer, lrs)[:, None] * rows, ends[:-1], axis=1)
    return {
        name: part.reshape(len(lrs), *shape)
        for (name, shape), part in zip(shapes.items(), parts, strict=True)
    }


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
    # by index: a tensor of a graph cannot be unpacked
    step = rule.step(*[numbers[i] for i in range(len(rule.step._fields))])
    decay = optimizer.weight_decay if rule.decays_gradient else 0.0
    new_weights: Weights = {}
    new_slots: Weights = {}
    for name, w in weights.items():
        g = grads[name] + decay * w if decay else grads[name]
        own = {slot: slots[f"{slot}/{name}"] for slot in rule.slots}
        now = step._replace(noise=step.noise[name]) if rule.noise else step
        new_weights[name], new_own = rule.update(ops, optimizer, w, g, own, now)
        new_slots |= {f"{slot}/{name}": value for slot, value in new_own.items()}
    return new_weights, new_slots
