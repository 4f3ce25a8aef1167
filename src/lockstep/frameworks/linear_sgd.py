"""When a run is linear regression by plain SGD, and what that comes to.

With theta = (w, b) and a column of ones beside x, a step of squared loss on B examples is
    r = X theta - y,   theta <- theta - (lr / B) X^T r
and losses and gradient norms of many steps follow from their residuals r at once. Adapters that
pay for every operation have a program of just that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockstep.models.losses import squared
from lockstep.spec import SGD, Linear

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task

BLOCK = 1 << 16  # numbers gathered at a time: bounds memory, fits the cache


def applies(task: Task, spec: RunSpec) -> bool:
    """Whether the run is exactly that."""
    return (
        spec.optimizer == SGD()
        and spec.model == Linear()
        and task.loss is squared
        and task.splits["train"]["y"].shape[1:] == (1,)
    )


def block_steps(batch_size: int, width: int) -> int:
    """How many steps are gathered at a time, for rows of `width` numbers."""
    return max(1, BLOCK // (batch_size * width))
