"""When in the backward pass each weight's gradient is complete: measured in NumPy's own
differentiation, the one that can be looked into.

Other frameworks divide their time over layers much like it, not just like it; how long their
backward pass takes in all is not taken from here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

import numpy as np

from lockstep.errors import InputError
from lockstep.experiments.scaling.overlap import Piece
from lockstep.frameworks import registry
from lockstep.frameworks.numpy.autodiff import Var, Vjp, backward
from lockstep.training import Result

LossOf = Callable[[Mapping[str, Any]], Any]  # from weights by name to a scalar
Clock = Callable[[], float]
REPEATS = 3
MOST_EXAMPLES = 256  # of the batch that is differentiated


def measure_backward(
    loss_of: LossOf,
    weights: Mapping[str, np.ndarray],
    repeats: int = REPEATS,
    clock: Clock = time.perf_counter,
) -> tuple[Piece, ...]:
    """The gradient of every weight, in the order of completion: differentiate `loss_of` a few
    times, and take the median of (time of the last part that reached it) / (time of all).

    >>> weights = {"a": np.ones((2, 2)), "b": np.ones((2, 1))}
    >>> found = measure_backward(lambda w: ((np.ones((1, 2)) @ w["a"]) @ w["b"])[0, 0], weights)
    >>> [(piece.name, piece.length) for piece in found]
    [('b', 2), ('a', 4)]
    """
    if repeats < 1:
        raise InputError("repeats", repeats, "measures nothing", "Give 1 or more.")
    ready: dict[str, list[float]] = {name: [] for name in weights}
    for _ in range(repeats):
        leaves = {name: Var(value) for name, value in weights.items()}
        output = loss_of(leaves)
        times = _watch(output, clock)
        begin = clock()
        backward(output)
        whole = clock() - begin
        for name, leaf in leaves.items():
            # a weight that is not used has its gradient, zero, from the beginning
            ready[name].append((times.get(id(leaf), begin) - begin) / whole)
    found = [Piece(name, int(w.size), median(ready[name])) for name, w in weights.items()]
    return tuple(sorted(found, key=lambda piece: piece.ready))


def _watch(output: Var, clock: Clock) -> dict[int, float]:
    """Where backward passes will leave the time of the last part that reached each variable."""
    times: dict[int, float] = {}

    def timed(parent: Var, vjp: Vjp) -> Vjp:
        def watched(g: np.ndarray) -> Any:
            part = vjp(g)
            times[id(parent)] = clock()
            return part

        return watched

    seen, pending = {id(output)}, [output]
    while pending:
        var = pending.pop()
        pending += [parent for parent, _ in var.parents if id(parent) not in seen]
        seen |= {id(parent) for parent, _ in var.parents}
        var.parents = tuple((parent, timed(parent, vjp)) for parent, vjp in var.parents)
    return times


def first_batch_backward(result: Result) -> tuple[Piece, ...]:
    """The same for a run's loss on its first batch."""
    task, spec = result.task, result.spec
    ops = registry.get("numpy").kernels(spec.precision)
    rows = task.plan.epoch(0)[0][0][:MOST_EXAMPLES]
    data = {name: ops.asarray(array) for name, array in task.splits["train"].items()}
    x, y = task.batch(ops, data, rows)
    shapes = task.model.carry_shapes(len(rows))
    carry = {name: ops.zeros(shape) for name, shape in shapes.items()}

    def loss_of(w: Any) -> Any:
        return ops.mean(task.loss(ops, task.model.apply(ops, w, x, carry)[0], y))

    weights = {name: np.asarray(ops.asarray(w)) for name, w in result.weights.items()}
    return measure_backward(loss_of, weights)
