"""A batch worked through in parts, one after another: the memory of a part, the gradient of all.

Each part's loss and gradients are its share of those of the whole batch (device_share.py), so that
they add up, however unevenly the batch is cut.
"""

from __future__ import annotations

from collections.abc import Callable

from lockstep.frameworks.device_share import Part
from lockstep.ops import Array, Ops, Weights
from lockstep.processes.splitting import shard_slices

# of a part and the state that it begins with: loss, state, gradients
PartGradient = Callable[[int, Part, Weights], tuple[Array, Weights, Weights]]
# as `summed`: a compiler may need a loop, or it computes all parts side by side in memory
Summed = Callable[[Ops, Part, Weights, int, PartGradient], tuple[Array, Weights, Weights]]


def cut(rows: int, count: int) -> list[slice]:
    """At most `count` parts of so many rows, in order, whose sizes differ by one at most.

    >>> [range(7)[part] for part in cut(7, 3)], len(cut(2, 3))
    ([range(0, 3), range(3, 5), range(5, 7)], 2)
    """
    return list(shard_slices(rows, min(count, rows)))


def summed(
    ops: Ops, part: Part, start: Weights, count: int, gradient: PartGradient
) -> tuple[Array, Weights, Weights]:
    """Loss, state and gradients of a device's rows, from `gradient(i, part, state)` of `count`
    parts of them; `start` is the state (m, ...) that the rows begin with."""
    loss: Array = None
    sums: Weights = {}
    carries = []
    for i, own in enumerate(cut(part.rows.shape[0], count)):
        mask = None if part.mask is None else part.mask[own]
        begin = {name: value[own] for name, value in start.items()}
        value, after, grads = gradient(i, Part(part.rows[own], part.count, mask), begin)
        loss = value if i == 0 else loss + value
        sums = {n: g if i == 0 else sums[n] + g for n, g in grads.items()}
        carries.append(after)
    carry = {name: ops.concat([own[name] for own in carries]) for name in carries[0]}
    return loss, carry, sums
