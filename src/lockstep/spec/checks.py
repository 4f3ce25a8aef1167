"""The checks that fields of a spec share. Each raises an InputError that says what to do."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lockstep.errors import InputError, unknown

ABSURD = 10**9


def whole(field: str, value: object, least: int = 1, most: int = ABSURD) -> None:
    """Require a whole number in [least, most].

    >>> whole("epochs", 0)
    Traceback (most recent call last):
    ...
    lockstep.errors.InputError: epochs = 0: must be at least 1. Give a whole number from 1 on.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(field, value, "must be a whole number", f"Give one from {least} on.")
    if value < least:
        raise InputError(
            field, value, f"must be at least {least}", f"Give a whole number from {least} on."
        )
    if value > most:
        raise InputError(field, value, f"is absurdly large (over {most})", "Give a smaller one.")


def number(field: str, value: object, least: float, most: float = math.inf) -> None:
    """Require a finite number in [least, most]."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(field, value, "must be a number", "Give a decimal number.")
    if not math.isfinite(value):
        raise InputError(field, value, "must be finite", "Give an ordinary decimal number.")
    if not least <= value <= most:
        limits = f"at least {least}" if most == math.inf else f"between {least} and {most}"
        raise InputError(field, value, f"must be {limits}", "Change it to a value in that range.")


def one_of(field: str, value: object, known: Sequence[str]) -> None:
    """Require one of the known names."""
    if value not in known:
        raise unknown(field, value, known)
