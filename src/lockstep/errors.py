"""What can go wrong through no fault of Lockstep's. Every message names the field, the value and
the remedy; the command line prints it without a traceback and exits with `exit_code`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LONGEST = 200  # letters of a value in a message


class LockstepError(Exception):
    """The base of every error a person may meet and can act on."""

    exit_code = 2

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows of it: the message, which says what to do, and no traceback."""
        return [f"{type(self).__name__}: {self}"]


class InputError(LockstepError, ValueError):
    """A value that cannot be used: which field, which value, why, and what to do instead.

    >>> print(InputError("batch_size", -1, "must be at least 1", "Give a positive whole number."))
    batch_size = -1: must be at least 1. Give a positive whole number.
    """

    def __init__(self, field: str, value: object, problem: str, remedy: str) -> None:
        super().__init__(f"{field} = {shown(value)}: {problem}. {remedy}")
        self.field, self.value, self.problem, self.remedy = field, value, problem, remedy


def shown(value: object) -> str:
    """A value as a message shows it: in full unless it is very long.

    >>> shown("a"), shown(10**5000), len(shown("x" * 1000))
    ("'a'", 'a number of 16610 bits', 203)
    """
    if isinstance(value, int) and value.bit_length() > 1000:
        return f"a number of {value.bit_length()} bits"
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__}"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def several(count: int, unit: str) -> str:
    """A count and what is counted.

    >>> several(1, "cell"), several(2000, "cell")
    ('1 cell', '2,000 cells')
    """
    return f"{count:,} {unit}{'' if count == 1 else 's'}"


class MissingError(LockstepError):
    """Something the run needs is not on this machine: data, or a framework."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}. {remedy}")
        self.what, self.remedy = what, remedy


class RunDirectoryError(LockstepError):
    """A run directory cannot be used as asked: another spec's, unreadable, or a full disk."""


class StartedError(LockstepError):
    """The process has started a framework with fewer devices than asked for; another could have
    them.

    >>> print(StartedError("jax", 4, 1))
    devices = 4: jax has started in this process with 1. Ask for them before anything is computed, \
or in a process of their own.
    """

    def __init__(self, framework: str, wanted: int, there: int) -> None:
        super().__init__(
            f"devices = {wanted}: {framework} has started in this process with {there}. "
            "Ask for them before anything is computed, or in a process of their own."
        )


def unknown(field: str, value: object, known: Iterable[str]) -> InputError:
    """The error for a name that is not known, with the nearest one that is.

    >>> print(unknown("framework", "pytorch", ["numpy", "torch"]))
    framework = 'pytorch': is not known. Did you mean 'torch'? Known: numpy, torch.
    """
    names = sorted(known)
    near = difflib.get_close_matches(str(value), names, n=1, cutoff=0.4)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    return InputError(field, value, "is not known", f"{hint}Known: {', '.join(names)}.")
