"""A grid of settings: which fields of a run take which values. Pure: text in, specs out.

An axis in text is `field=VALUES`, where VALUES is one of
    a,b,c               the values themselves; commas inside brackets do not separate
    start:stop          whole numbers, both ends included
    start:stop:linN     N numbers, evenly spaced, both ends included
    start:stop:logN     N numbers, each the same multiple of the one before, both ends included
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lockstep.errors import InputError, unknown
from lockstep.schedules import AnySchedule, format_schedule
from lockstep.spec import RunSpec
from lockstep.spec.convert import flatten

LARGEST = 1000  # runs that are carried out without being asked twice
LR = "lr"  # the base rate of the schedule: no field of a run, but what is varied most

_SPACED = re.compile(r"(?P<start>[^:(]+):(?P<stop>[^:]+):(?P<how>lin|log)(?P<count>\d+)")
_WHOLE = re.compile(r"(?P<start>-?\d+):(?P<stop>-?\d+)")


@dataclass(frozen=True)
class Grid:
    """Fields by dotted name with their values, in the order in which they were given."""

    axes: Mapping[str, tuple[Any, ...]]

    def __post_init__(self) -> None:
        if not self.axes:
            raise InputError("grid", "", "is empty", "Give a field and values: --grid lr=0.1,0.3.")
        for name, values in self.axes.items():
            if not values:
                raise InputError(f"grid {name}", "", "has no values", f"Write {name}=a,b,c.")
            _refuse_equal(name, values)

    @property
    def size(self) -> int:
        """How many settings there are."""
        return math.prod(len(values) for values in self.axes.values())

    def settings(self) -> Iterator[dict[str, Any]]:
        """Every combination; the last field changes fastest.

        >>> [*Grid({"lr": (0.1, 0.2), "seed": (0, 1)}).settings()][1]
        {'lr': 0.1, 'seed': 1}
        """
        for values in itertools.product(*self.axes.values()):
            yield dict(zip(self.axes, values, strict=True))

    def specs(self, run: RunSpec) -> list[tuple[dict[str, Any], RunSpec]]:
        """Every setting with its run; a value is read as its field's type, and checked."""
        self._refuse_unknown(run)
        return [(_shown(setting, spec), spec) for setting, spec in self._changed(run)]

    def _changed(self, run: RunSpec) -> Iterator[tuple[dict[str, Any], RunSpec]]:
        for setting in self.settings():
            fields = {name: value for name, value in setting.items() if name != LR}
            spec = run.with_fields(fields) if fields else run
            if LR in setting:
                spec = spec.with_lr(_finite(LR, setting[LR]))
            yield setting, spec

    def _refuse_unknown(self, run: RunSpec) -> None:
        values = run.to_dict()
        known = {*values, *flatten(values), LR}
        parts = {name for name, value in values.items() if isinstance(value, dict)}
        for name in self.axes:
            # a part's fields depend on its kind, which may be varied too: with_fields checks them
            if name not in known and name.partition(".")[0] not in parts:
                raise unknown("grid field", name, known)
            if name == "name":
                raise InputError("grid field", name, "changes no run", "Name another field.")

    def to_dict(self) -> dict[str, list[Any]]:
        """Plain values."""
        return {name: [_plain(value) for value in values] for name, values in self.axes.items()}


def parse_grid(words: Iterable[str]) -> Grid:
    """The grid that a command line describes, a word for each axis.

    >>> parse_grid(["lr=0.01:1:log3", "batch_size=10,100", "seed=0:2"]).axes
    {'lr': (0.01, 0.1, 1.0), 'batch_size': ('10', '100'), 'seed': (0, 1, 2)}
    """
    axes: dict[str, tuple[Any, ...]] = {}
    for word in words:
        name, equals, text = word.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise InputError("grid", word, "is no axis", "Write field=values, as in lr=0.1,0.3.")
        if name in axes:
            raise InputError("grid field", name, "is given twice", "Give all its values at once.")
        axes[name] = _values(name, text.strip())
    return Grid(axes)


def _values(name: str, text: str) -> tuple[Any, ...]:
    if found := _SPACED.fullmatch(text):
        return _spaced(name, **found.groupdict())
    if found := _WHOLE.fullmatch(text):
        first, last = int(found["start"]), int(found["stop"])
        if last < first:
            remedy = f"Give the smaller first: {last}:{first}."
            raise InputError(f"grid {name}", text, "is empty", remedy)
        if last - first >= 10**6:
            problem = f"has {last - first + 1:,} values"
            raise InputError(f"grid {name}", text, problem, "Give fewer.")
        return tuple(range(first, last + 1))
    values = tuple(split_values(text))
    for value in values:
        if re.fullmatch(r"[+-]?(nan|inf|infinity)", value.lower()):
            raise InputError(f"grid {name}", value, "is not finite", "Give a number such as 0.1.")
    return values


def _spaced(name: str, start: str, stop: str, how: str, count: str) -> tuple[float, ...]:
    field = f"grid {name}"
    begin, end, num = _finite(field, start), _finite(field, stop), int(count)
    if not 2 <= num <= 10**6:
        problem, remedy = "must be from 2 to 1,000,000 values", f"Write {start}:{stop}:{how}16."
        raise InputError(field, f"{how}{count}", problem, remedy)
    if begin == end:
        raise InputError(field, f"{start}:{stop}", "has no length", "Give two different ends.")
    if how == "lin":
        inner = [begin + (end - begin) * i / (num - 1) for i in range(1, num - 1)]
    elif begin <= 0 or end <= 0:
        problem = "has no logarithm: both ends must be positive"
        raise InputError(field, f"{start}:{stop}", problem, f"Write {how}N of 0.01:1, or linN.")
    else:
        ratio = math.log(end / begin) / (num - 1)
        # 12 digits: 0.1 rather than 0.10000000000000002
        inner = [float(f"{begin * math.exp(ratio * i):.12g}") for i in range(1, num - 1)]
    return (begin, *inner, end)


def split_values(text: str) -> list[str]:
    """The values between commas that are outside all brackets.

    >>> split_values("cosine(0.3, steps=20), constant(0.1)")
    ['cosine(0.3, steps=20)', 'constant(0.1)']
    """
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def _finite(field: str, value: object) -> float:
    try:
        found = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        problem, remedy = "is not a number", "Give a number such as 0.1."
        raise InputError(field, value, problem, remedy) from None
    if not math.isfinite(found):
        raise InputError(field, value, "is not finite", "Give a number such as 0.1.")
    return found


def _refuse_equal(name: str, values: tuple[Any, ...]) -> None:
    seen: list[Any] = []
    for value in values:
        if value in seen:
            raise InputError(f"grid {name}", value, "is given twice", "Leave one of them out.")
        seen.append(value)


def _shown(setting: Mapping[str, Any], spec: RunSpec) -> dict[str, Any]:
    """A setting with the values that the run has: numbers, where they were given as text."""
    values = spec.to_dict()
    flat = flatten(values)
    found: dict[str, Any] = {}
    for name, value in setting.items():
        if name == LR:
            found[name] = float(value)
        elif name == "schedule":
            found[name] = format_schedule(spec.schedule)
        elif isinstance(values.get(name), dict):
            found[name] = values[name]["kind"]
        else:
            found[name] = flat.get(name, value)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, AnySchedule):
        return format_schedule(value)
    return value if isinstance(value, str | int | float | bool) else str(value)
