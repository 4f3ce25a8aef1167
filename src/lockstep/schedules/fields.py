"""The types of schedule fields. Each carries its check, which returns the value in its one type
(float, int, tuple) or raises an InputError that names the field, the value and the remedy. Nothing
here knows a formula.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Annotated

from lockstep import checks
from lockstep.errors import InputError


def check(schedule: object) -> None:
    """Check the fields whose types are those below, and store their values; for __post_init__."""
    checks.check_fields(schedule, "schedule")


def error(name: str, value: object, problem: str, remedy: str) -> InputError:
    """The error for one field of a schedule.

    >>> print(error("steps", 0, "must be at least 1", "Give the length of the decay."))
    schedule.steps = 0: must be at least 1. Give the length of the decay.
    """
    return InputError(f"schedule.{name}", value, problem, remedy)


def not_above(schedule: object, name: str, limit: str) -> None:
    """Refuse a learning rate that exceeds another one."""
    value, high = getattr(schedule, name), getattr(schedule, limit)
    if value > high:
        raise error(name, value, f"is above {limit} = {high!r}", f"Lower {name} or raise {limit}.")


def _rate(field: str, value: object) -> float:
    if (number := checks.number(field, value)) < 0:
        raise InputError(field, number, "is negative", "A learning rate is 0 or more.")
    return number


def _positive(field: str, value: object) -> float:
    if (number := checks.number(field, value)) <= 0:
        raise InputError(field, number, "must be above 0", "Give a positive number.")
    return number


def _fraction(field: str, value: object, one: bool = True) -> float:
    number = checks.number(field, value)
    if not (0 < number < 1 or (one and number == 1)):
        allowed = "above 0 and at most 1" if one else "above 0 and below 1"
        raise InputError(field, number, f"must be {allowed}", "Give a fraction such as 0.5.")
    return number


def _at_least(field: str, value: object, low: float) -> float:
    if (number := checks.number(field, value)) < low:
        raise InputError(field, number, f"must be at least {low:g}", f"Give {low:g} or more.")
    return number


def ascending(field: str, value: object, low: int) -> tuple[int, ...]:
    """Steps from `low` on, in strictly ascending order."""
    steps = checks.listed(field, value, "a list of steps: [15, 30]")
    steps = tuple(checks.whole(field, step, low, most=None) for step in steps)
    if any(later <= earlier for earlier, later in pairwise(steps)):
        remedy = f"Give {sorted(set(steps))} instead."
        raise InputError(field, list(steps), "is not in ascending order", remedy)
    return steps


Rate = Annotated[float, _rate]  # finite and not negative
Positive = Annotated[float, _positive]
Fraction = Annotated[float, _fraction]  # above 0 and at most 1
ProperFraction = Annotated[float, partial(_fraction, one=False)]
Steps = Annotated[int, partial(checks.whole, most=None)]  # a number of them, from 1
StepsOrZero = Annotated[int, partial(checks.whole, least=0, most=None)]  # from 0
Flag = Annotated[bool, checks.truth]
NotNegative = Annotated[float, partial(_at_least, low=0)]
Divisor = Annotated[float, partial(_at_least, low=1)]
