"""The checks that schedule fields share: each stores the value in its one type (float, int, tuple)
or raises an InputError that names the field, the value and the remedy. Nothing here knows a
formula."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from numbers import Integral, Real

from lockstep.errors import InputError, unknown


def error(name: str, value: object, problem: str, remedy: str) -> InputError:
    """The error for one field of a schedule.

    >>> print(error("steps", 0, "must be at least 1", "Give the length of the decay."))
    schedule.steps = 0: must be at least 1. Give the length of the decay.
    """
    return InputError(f"schedule.{name}", value, problem, remedy)


def store(schedule: object, name: str, value: object) -> None:
    """Set a field of a frozen dataclass; only for use in its __post_init__."""
    object.__setattr__(schedule, name, value)


def number(schedule: object, name: str) -> float:
    """The field as a finite float; the common part of the checks below."""
    value = getattr(schedule, name)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise error(name, value, "is not a number", "Give a number such as 0.1.")
    try:
        result = float(value) + 0.0  # + 0.0 turns -0.0 into 0.0, so the text form is unique
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise error(name, value, "is not finite", "Give a number such as 0.1.")
    store(schedule, name, result)
    return result


def learning_rates(schedule: object, *names: str) -> None:
    """Fields that are learning rates: finite and not negative."""
    for name in names:
        if number(schedule, name) < 0:
            value = getattr(schedule, name)
            raise error(name, value, "is negative", "A learning rate is 0 or more.")


def positive(schedule: object, *names: str) -> None:
    """Fields that must be finite and above zero."""
    for name in names:
        if number(schedule, name) <= 0:
            value = getattr(schedule, name)
            raise error(name, value, "must be above 0", "Give a positive number.")


def at_least(schedule: object, name: str, low: float) -> None:
    """A field that must be finite and not below `low`."""
    value = number(schedule, name)
    if value < low:
        raise error(name, value, f"must be at least {low:g}", f"Give {low:g} or more.")


def fraction(schedule: object, name: str, *, one: bool = True) -> None:
    """A field between 0 (excluded) and 1 (included if `one`)."""
    value = number(schedule, name)
    if not (0 < value < 1 or (one and value == 1)):
        allowed = "above 0 and at most 1" if one else "above 0 and below 1"
        raise error(name, value, f"must be {allowed}", "Give a fraction such as 0.5.")


def not_above(schedule: object, name: str, limit: str) -> None:
    """A learning rate that must not exceed another one."""
    value, high = getattr(schedule, name), getattr(schedule, limit)
    if value > high:
        raise error(name, value, f"is above {limit} = {high!r}", f"Lower {name} or raise {limit}.")


def whole(name: str, value: object, low: int) -> int:
    """A whole number that is not below `low`, as an int.

    >>> whole("steps", 20, 1)
    20
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise error(name, value, "is not a whole number", "Give a whole number such as 20.")
    if value < low:
        raise error(name, value, f"must be at least {low}", f"Give {low} or more.")
    return int(value)


def counts(schedule: object, *names: str, low: int = 1) -> None:
    """Fields that count steps."""
    for name in names:
        store(schedule, name, whole(name, getattr(schedule, name), low))


def ascending(schedule: object, name: str, low: int) -> None:
    """A field that lists steps in strictly ascending order, stored as a tuple."""
    value = getattr(schedule, name)
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise error(name, value, "is not a list of steps", "Give a list such as [15, 30].")
    steps = tuple(whole(name, step, low) for step in value)
    if any(later <= earlier for earlier, later in pairwise(steps)):
        remedy = f"Give {sorted(set(steps))} instead."
        raise error(name, list(steps), "is not in ascending order", remedy)
    store(schedule, name, steps)


def choice(schedule: object, name: str, allowed: tuple[str, ...]) -> None:
    """A field that takes one of a few words."""
    value = getattr(schedule, name)
    if value not in allowed:
        raise unknown(f"schedule.{name}", value, allowed)


def flag(schedule: object, name: str) -> None:
    """A field that is True or False."""
    value = getattr(schedule, name)
    if not isinstance(value, bool):
        raise error(name, value, "is neither True nor False", "Give True or False.")
