"""The checks of schedule fields: each stores the value in its one type (float, int, tuple) or
raises an InputError that names the field, the value and the remedy. Nothing here knows a formula.
"""

from __future__ import annotations

from itertools import pairwise

from lockstep import checks
from lockstep.errors import InputError


def error(name: str, value: object, problem: str, remedy: str) -> InputError:
    """The error for one field of a schedule.

    >>> print(error("steps", 0, "must be at least 1", "Give the length of the decay."))
    schedule.steps = 0: must be at least 1. Give the length of the decay.
    """
    return InputError(f"schedule.{name}", value, problem, remedy)


def _number(schedule: object, name: str) -> float:
    """The field as a finite float, stored as such; the common part of the checks below."""
    value = checks.number(f"schedule.{name}", getattr(schedule, name))
    checks.store(schedule, name, value)
    return value


def learning_rates(schedule: object, *names: str) -> None:
    """Fields that are learning rates: finite and not negative."""
    for name in names:
        if (value := _number(schedule, name)) < 0:
            raise error(name, value, "is negative", "A learning rate is 0 or more.")


def positive(schedule: object, *names: str) -> None:
    """Fields that must be finite and above zero."""
    for name in names:
        if (value := _number(schedule, name)) <= 0:
            raise error(name, value, "must be above 0", "Give a positive number.")


def at_least(schedule: object, name: str, low: float) -> None:
    """A field that must be finite and not below `low`."""
    if (value := _number(schedule, name)) < low:
        raise error(name, value, f"must be at least {low:g}", f"Give {low:g} or more.")


def fraction(schedule: object, name: str, *, one: bool = True) -> None:
    """A field between 0 (excluded) and 1 (included if `one`)."""
    value = _number(schedule, name)
    if not (0 < value < 1 or (one and value == 1)):
        allowed = "above 0 and at most 1" if one else "above 0 and below 1"
        raise error(name, value, f"must be {allowed}", "Give a fraction such as 0.5.")


def not_above(schedule: object, name: str, limit: str) -> None:
    """A learning rate that must not exceed another one."""
    value, high = getattr(schedule, name), getattr(schedule, limit)
    if value > high:
        raise error(name, value, f"is above {limit} = {high!r}", f"Lower {name} or raise {limit}.")


def counts(schedule: object, *names: str, low: int = 1) -> None:
    """Fields that count steps."""
    for name in names:
        checks.store(schedule, name, _count(name, getattr(schedule, name), low))


def ascending(schedule: object, name: str, low: int) -> None:
    """A field that lists steps in strictly ascending order, stored as a tuple."""
    steps = checks.listed(f"schedule.{name}", getattr(schedule, name), "a list of steps: [15, 30]")
    steps = tuple(_count(name, step, low) for step in steps)
    if any(later <= earlier for earlier, later in pairwise(steps)):
        remedy = f"Give {sorted(set(steps))} instead."
        raise error(name, list(steps), "is not in ascending order", remedy)
    checks.store(schedule, name, steps)


def _count(name: str, value: object, low: int) -> int:
    return checks.whole(f"schedule.{name}", value, low, most=None)


def choice(schedule: object, name: str, allowed: tuple[str, ...]) -> None:
    """A field that takes one of a few words."""
    checks.one_of(f"schedule.{name}", getattr(schedule, name), allowed)


def flag(schedule: object, name: str) -> None:
    """A field that is True or False."""
    checks.truth(f"schedule.{name}", getattr(schedule, name))
