"""The checks that fields of specs and schedules share: each returns the value to store, or raises
an InputError that says what to do.

A number is kept in the one type of its field (int or float), so that equal specs have equal hashes.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from numbers import Real
from typing import Any, get_type_hints

from lockstep.errors import InputError, unknown

ABSURD = 10**9


def whole(field: str, value: object, least: int = 1, most: int | None = ABSURD) -> int:
    """A whole number in [least, most], with no upper limit if `most` is None.

    >>> whole("epochs", 0)
    Traceback (most recent call last):
    ...
    lockstep.errors.InputError: epochs = 0: must be at least 1. Give a whole number from 1 on.
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise InputError(field, value, "is not a whole number", f"Give one from {least} on.")
    if number < least:
        remedy = f"Give a whole number from {least} on."
        raise InputError(field, value, f"must be at least {least}", remedy)
    if most is not None and number > most:
        raise InputError(field, value, f"is absurdly large (over {most})", "Give a smaller one.")
    return number


def number(
    field: str,
    value: object,
    least: float = -math.inf,
    most: float = math.inf,
    below: float = math.inf,
) -> float:
    """A finite number in [least, most], and under `below`, as a float."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(field, value, "is not a number", "Give a number such as 0.1.")
    try:
        found = float(value) + 0.0  # + 0.0 turns -0.0 into 0.0, so the text form is unique
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise InputError(field, value, "is not finite", "Give a number such as 0.1.")
    if not (least <= found <= most and found < below):
        limits = f"at least {least}" if most == math.inf else f"between {least} and {most}"
        limits += "" if below == math.inf else f" and below {below:g}"
        raise InputError(field, value, f"must be {limits}", "Change it to a value in that range.")
    return found


def truth(field: str, value: object) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise InputError(field, value, "is neither True nor False", "Give true or false.")
    return value


def one_of(field: str, value: Any, known: Sequence[str]) -> Any:
    """One of the known names."""
    if value not in known:
        raise unknown(field, value, known)
    return value


def listed(field: str, value: object, example: str) -> tuple[Any, ...]:
    """A list or tuple, as a tuple."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InputError(field, value, "must be a list", f"Write it as {example}.")
    return tuple(value)


def folder_name(field: str, value: object) -> str:
    """Text that can be part of the name of a folder."""
    if not isinstance(value, str):
        raise InputError(field, value, "must be text", "Put it in quotes.")
    if not value:
        raise InputError(field, value, "is empty", "Give it some letters.")
    if value.startswith(".") or not value.isprintable() or set(value) & set('/\\:*?"<>|'):
        remedy = "Use letters, digits, hyphens and underscores."
        raise InputError(field, value, "cannot name a folder", remedy)
    return value


def part_of(field: str, value: object, kinds: Mapping[str, type]) -> object:
    """A record of one of the kinds."""
    if not isinstance(value, tuple(kinds.values())):
        names = ", ".join(cls.__name__ for cls in kinds.values())
        remedy = f"Give one of lockstep.spec's: {names}."
        raise InputError(field, value, f"is no {field} of a run", remedy)
    return value


def store(part: object, name: str, value: object) -> None:
    """Set a field of a frozen record; only for use in its __post_init__."""
    object.__setattr__(part, name, value)


def check_fields(record: Any, section: str) -> None:
    """Check the fields of a frozen record whose types carry a check, `Annotated[type, check]`, and
    store what it returns; only for use in its __post_init__."""
    for name, check in _checks(record.__class__):
        store(record, name, check(f"{section}.{name}", getattr(record, name)))


@cache
def _checks(record: type[Any]) -> list[tuple[str, Callable[[str, Any], Any]]]:
    hints = get_type_hints(record, include_extras=True)
    return [
        (item.name, check)
        for item in fields(record)
        for check in getattr(hints[item.name], "__metadata__", ())
    ]
