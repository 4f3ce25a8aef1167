"""Schedules as text and as plain tables, both exact: what is written reads back equal.

The text is what one writes in Python, so there is one syntax for the command line, for TOML and for
code; it is read through its syntax tree and never evaluated:

    schedule := number                      a constant
              | kind(value, name=value ...)
              | schedule.warmup(steps, start=..., mode=...)
    value    := number | word | "word" | True | False | [value, ...] | schedule
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from numbers import Real
from typing import Any, TypeAlias, TypeVar

from lockstep.errors import InputError, unknown
from lockstep.extensions import Registry
from lockstep.schedules.base import Schedule
from lockstep.schedules.combine import Join, Warmup
from lockstep.schedules.cycles import CosineRestarts, OneCycle, Triangular
from lockstep.schedules.decays import Exponential, Factor, InversePower, InverseTime, SquareRoot
from lockstep.schedules.finite import Constant, Cosine, Linear, MultiFactor, Polynomial
from lockstep.schedules.on_plateau import ReduceOnPlateau

AnySchedule: TypeAlias = Schedule | ReduceOnPlateau

KINDS: Registry[type[Schedule] | type[ReduceOnPlateau]] = Registry("schedule.kind")
_EXAMPLE = "Write it as in cosine(0.3, final=0.01, steps=15).warmup(5)."

_T = TypeVar("_T", bound=type[Schedule])


def add(cls: _T) -> _T:
    """Make a schedule known by its `kind` in text, TOML and JSON; also as a decorator.

    It is a frozen dataclass derived from Schedule, with `formula` and `example` for the help.
    """
    if not (isinstance(cls, type) and issubclass(cls, Schedule) and is_dataclass(cls)):
        remedy = "Derive a frozen dataclass from lockstep.schedules.Schedule."
        raise InputError("schedule", cls, "is no kind of schedule", remedy)
    for name in ("kind", "formula", "example"):
        if not isinstance(getattr(cls, name, None), str):
            raise InputError(f"schedule.{name}", cls.__name__, "lacks it", f"Set {name} to a text.")
    if not cls.kind.isidentifier():  # it is written as a function's name
        raise InputError("schedule.kind", cls.kind, "is no Python name", "Use underscores.")
    KINDS.add(cls.kind, cls)
    return cls


_BUILT_IN: tuple[type[Schedule], ...] = (
    Constant, SquareRoot, Factor, MultiFactor, Polynomial, Linear, Cosine, CosineRestarts,
    Exponential, InversePower, InverseTime, OneCycle, Triangular, Warmup, Join,
)  # fmt: skip
for _kind in _BUILT_IN:
    add(_kind)
KINDS.add(ReduceOnPlateau.kind, ReduceOnPlateau)


def parse_schedule(text: str) -> AnySchedule:
    """The schedule a text describes; a bare number is a constant.

    >>> parse_schedule("0.3")
    Constant(base=0.3)
    >>> parse_schedule("cosine(0.3, final=0.01, steps=15).warmup(5)")(5)
    0.3
    >>> parse_schedule("cosin(0.3, steps=15)")
    Traceback (most recent call last):
        ...
    lockstep.errors.InputError: schedule = 'cosin': is not known. Did you mean 'cosine'? \
Known: constant, cosine, cosine_restarts, exponential, factor, inverse_power, inverse_time, join, \
linear, multi_factor, one_cycle, plateau, polynomial, square_root, triangular, warmup.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
        value = _value(tree.body)
    except SyntaxError as wrong:
        problem = f"cannot be read at character {wrong.offset or 0} ({wrong.msg})"
        raise InputError("schedule", text, problem, _EXAMPLE) from None
    except (RecursionError, MemoryError):
        raise InputError("schedule", text, "is nested too deeply", _EXAMPLE) from None
    except InputError:
        raise
    except ValueError:  # a null character; InputError is a ValueError too
        raise InputError("schedule", text, "cannot be read", _EXAMPLE) from None
    return _as_part(value)


def format_schedule(schedule: AnySchedule) -> str:
    """The text of a schedule, without the fields that have their usual value; reads back equal.

    >>> format_schedule(parse_schedule("cosine( 3e-1,final=0.01,steps=15 ).warmup(5, start=0.0)"))
    'cosine(0.3, final=0.01, steps=15).warmup(5)'
    """
    parts = [
        text if not field.kw_only else f"{field.name}={text}"
        for field in fields(schedule)
        if (value := getattr(schedule, field.name)) != field.default
        for text in [_format_value(value)]
    ]
    if isinstance(schedule, Warmup):
        return f"{parts[0]}.warmup({', '.join(parts[1:])})"
    return f"{schedule.kind}({', '.join(parts)})"


def schedule_to_dict(schedule: AnySchedule) -> dict[str, Any]:
    """A table of plain values (numbers, words, lists, tables) for TOML or JSON, with every field
    that has a value, so that it keeps its meaning if a usual value ever changes.

    >>> schedule_to_dict(parse_schedule("cosine(0.3, steps=15)"))
    {'kind': 'cosine', 'base': 0.3, 'final': 0.0, 'steps': 15}
    """
    table = {"kind": schedule.kind}
    for field in fields(schedule):
        value = getattr(schedule, field.name)
        if value is not None:  # TOML has no null
            table[field.name] = _plain(value)
    return table


def schedule_from_dict(table: Mapping[str, Any]) -> AnySchedule:
    """The schedule that a table describes; the reverse of schedule_to_dict.

    >>> schedule_from_dict({"kind": "factor", "base": 2, "factor": 0.9, "floor": 0.01})(0)
    2.0
    """
    if "kind" not in table:
        remedy = f"Add kind = one of {', '.join(sorted(KINDS))}."
        raise InputError("schedule", dict(table), "does not say its kind", remedy)
    named = {name: value for name, value in table.items() if name != "kind"}
    return _create(table["kind"], [], named)


def as_schedule(value: AnySchedule | float | str | Mapping[str, Any]) -> AnySchedule:
    """Whatever describes a schedule, as one: a schedule, a number, a text or a table.

    >>> as_schedule(0.3) == as_schedule("constant(0.3)") == as_schedule({"kind": "constant",
    ...     "base": 0.3})
    True
    """
    return parse_schedule(value) if isinstance(value, str) else _as_part(value)


def _as_part(value: object) -> AnySchedule:
    """A schedule, a table, or a number, which is a constant."""
    if isinstance(value, Schedule | ReduceOnPlateau):
        return value
    if isinstance(value, Mapping):
        return schedule_from_dict(value)
    if isinstance(value, Real) and not isinstance(value, bool):
        return _create("constant", [value], {})
    if isinstance(value, str):
        if value not in KINDS:
            raise unknown("schedule", value, KINDS)
        problem, remedy = "lacks its values", f"Write it as in {KINDS[value].example}."
        raise InputError("schedule", value, problem, remedy)
    raise InputError("schedule", value, "is not a schedule", _EXAMPLE)


def _create(kind: object, given: Sequence[object], named: Mapping[str, object]) -> AnySchedule:
    """A schedule of a kind from values as written, with errors that show how to write it."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise unknown("schedule", kind, KINDS)
    cls = KINDS[kind]
    known: dict[str, Field[Any]] = {field.name: field for field in fields(cls)}
    order = [name for name, field in known.items() if not field.kw_only]
    if len(given) > len(order):
        problem = f"takes only {' and '.join(order)} without a name"
        raise InputError("schedule", kind, problem, f"Name the rest, as in {cls.example}.")
    values: dict[str, Any] = dict(zip(order, given, strict=False))
    for name, value in named.items():
        if name not in known:
            raise unknown(f"schedule.{kind} field", name, known)
        if name in values:
            raise InputError(f"schedule.{name}", value, "is given twice", "Give it once.")
        values[name] = value
    missing = [n for n, field in known.items() if n not in values and field.default is MISSING]
    if missing:
        remedy = f"Write it as in {cls.example}."
        raise InputError("schedule", kind, f"needs {' and '.join(missing)}", remedy)
    if "schedule" in values:
        values["schedule"] = _as_part(values["schedule"])
    if isinstance(parts := values.get("schedules"), list | tuple):
        values["schedules"] = tuple(_as_part(part) for part in parts)
    return cls(**values)


def _value(node: ast.expr) -> object:
    """The value of a syntax tree that uses only what the grammar allows."""
    match node:
        case ast.Constant(value=int() | float() | str() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.Name(id=word):
            return word
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item) for item in items]
        case ast.Call(func=ast.Name(id=kind), args=args, keywords=keywords):
            return _create(kind, [_value(arg) for arg in args], _named(keywords))
        case ast.Call(func=ast.Attribute(value=inner, attr="warmup"), args=args, keywords=keywords):
            given = [_as_part(_value(inner)), *(_value(arg) for arg in args)]
            return _create("warmup", given, _named(keywords))
        case ast.Call(func=ast.Attribute(attr=method)):
            raise unknown("schedule method", method, ["warmup"])
    raise InputError("schedule", ast.unparse(node), "is not part of a schedule's text", _EXAMPLE)


def _named(keywords: Sequence[ast.keyword]) -> dict[str, object]:
    named: dict[str, object] = {}
    for keyword in keywords:
        text = ast.unparse(keyword)
        if keyword.arg is None:
            raise InputError("schedule", text, "is not part of a schedule's text", _EXAMPLE)
        if keyword.arg in named:
            raise InputError("schedule", text, "is given twice", f"Give {keyword.arg} once.")
        named[keyword.arg] = _value(keyword.value)
    return named


def _format_value(value: object) -> str:
    if isinstance(value, Schedule | ReduceOnPlateau):
        return format_schedule(value)
    if isinstance(value, tuple):
        return f"[{', '.join(_format_value(item) for item in value)}]"
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _plain(value: object) -> Any:
    if isinstance(value, Schedule | ReduceOnPlateau):
        return schedule_to_dict(value)
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
