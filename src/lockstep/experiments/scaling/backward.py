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
from lockstep.frameworks.numpy.autodiff import Var, Vjp, backward

LossOf = Callable[[Mapping[str, Any]], Any]  # from weights by name to a scalar
Clock = Callable[[], float]
REPEATS = 3


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
        told = _watch(output, clock)
        begin = clock()
        backward(output)
        whole = clock() - begin
        for name, leaf in leaves.items():
            # a weight that is not used has its gradient, zero, from the beginning
            ready[name].append((told.get(id(leaf), begin) - begin) / whole)
    found = [Piece(name, int(w.size), median(ready[name])) for name, w in weights.items()]
    return tuple(sorted(found, key=lambda piece: piece.ready))


def _watch(output: Var, clock: Clock) -> dict[int, float]:
    """Where backward passes will leave the time of the last part that reached each variable."""
    told: dict[int, float] = {}

    def timed(parent: Var, vjp: Vjp) -> Vjp:
        def watched(g: np.ndarray) -> Any:
            part = vjp(g)
            told[id(parent)] = clock()
            return part

        return watched

    seen, pending = {id(output)}, [output]
    while pending:
        var = pending.pop()
        pending += [parent for parent, _ in var.parents if id(parent) not in seen]
        seen |= {id(parent) for parent, _ in var.parents}
        var.parents = tuple((parent, timed(parent, vjp)) for parent, vjp in var.parents)
    return told
