"""A run with a larger batch, and a learning rate to go with it: what k devices allow."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lockstep.checks import one_of, whole
from lockstep.errors import InputError
from lockstep.schedules import ReduceOnPlateau
from lockstep.spec.run import RunSpec

# what the learning rate is multiplied by when the batch grows k-fold
RULES: dict[str, Callable[[int], float]] = {
    "none": lambda k: 1.0,
    "linear": float,
    "square_root": math.sqrt,
}


def scale_batch(spec: RunSpec, factor: int, rule: str = "linear", warmup: int = 0) -> RunSpec:
    """The run with batches of factor * batch_size and the base rate times 1 (rule "none"), factor
    ("linear") or its square root ("square_root").

    With `warmup`, in the unit of the schedule (`schedule_per`), the rate rises from the base rate
    of the small batch to the new one before the schedule begins.

    >>> from lockstep import recipes
    >>> spec = scale_batch(recipes.fashion_lenet(lr=0.1), 4, "linear", warmup=2)
    >>> spec.batch_size, [spec.schedule(t) for t in range(4)]
    (1024, [0.1, 0.25, 0.4, 0.4])
    """
    whole("factor", factor)
    whole("warmup", warmup, least=0)
    one_of("rule", rule, tuple(RULES))
    base = base_rate(spec.schedule)
    grown = replace(spec, batch_size=factor * spec.batch_size).with_lr(base * RULES[rule](factor))
    if not warmup:
        return grown
    if isinstance(grown.schedule, ReduceOnPlateau):
        problem, remedy = "does not go before a plateau", "Leave it out, or use another schedule."
        raise InputError("warmup", warmup, problem, remedy)
    return replace(grown, schedule=grown.schedule.warmup(warmup, start=base))


def base_rate(schedule: Any) -> float:
    """The rate that `with_lr` would replace.

    >>> from lockstep.schedules import cosine
    >>> base_rate(cosine(0.3, steps=10).warmup(5))
    0.3
    """
    if hasattr(schedule, "base"):
        return float(schedule.base)
    if hasattr(schedule, "schedule"):
        return base_rate(schedule.schedule)
    problem = "has several base rates, of which none can be scaled alone"
    raise InputError("schedule", schedule.kind, problem, "Name the rates in --schedule.")
