"""Between a RunSpec and plain dictionaries, and its fields by dotted name, read from text."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from lockstep.errors import InputError, unknown
from lockstep.schedules import KINDS, Schedule, as_schedule, schedule_from_dict, schedule_to_dict
from lockstep.spec.document import tables_last
from lockstep.spec.parts import PARTS

Spec = TypeVar("Spec", bound=Any)  # RunSpec, which is built on this module


def to_dict(spec: Any) -> dict[str, Any]:
    """Plain values only: numbers, text, lists and tables."""
    values: dict[str, Any] = {}
    for item in dataclasses.fields(spec):
        value = getattr(spec, item.name)
        if item.name in PARTS:
            value = _part_to_dict(value)
        elif item.name == "schedule":
            value = schedule_to_dict(value)
        values[item.name] = value
    return tables_last(_plain(values))


def _part_to_dict(part: Any) -> dict[str, Any]:
    return {"kind": part.kind} | _plain(dataclasses.asdict(part))


def from_dict(cls: type[Spec], values: Mapping[str, Any]) -> Spec:
    """The spec described by plain values; every mistake names its field."""
    hints = typing.get_type_hints(cls)
    items = {item.name: item for item in dataclasses.fields(cls)}
    arguments: dict[str, Any] = {}
    for name, value in values.items():
        if name not in items:
            raise unknown("field", name, items)
        if name in PARTS:
            arguments[name] = _part(name, value)
        elif name == "schedule":
            arguments[name] = _schedule(value)
        else:
            arguments[name] = coerce(name, value, hints[name])
    required = [name for name, item in items.items() if item.default is dataclasses.MISSING]
    for name in required:
        if name not in arguments:
            raise InputError(name, None, "is missing", f"Every run needs {', '.join(required)}.")
    return cls(**arguments)


def with_fields(spec: Spec, changes: Mapping[str, object]) -> Spec:
    """A copy with dotted fields replaced. A new `kind` starts from that kind's own defaults."""
    values = to_dict(spec)
    # whole parts, then kinds, then the rest: "--model.num_hiddens 64 --model rnn" in any order
    for name in sorted(changes, key=lambda n: (n.count("."), not n.endswith(".kind"))):
        *path, last = name.split(".")
        table = values
        for step in path:
            inner = _table(step, table.get(step))
            if inner is None:
                raise unknown("field", name, flatten(values))
            table[step] = table = inner
        if path and last == "kind":
            table.clear()
        table[last] = changes[name]
    return from_dict(type(spec), values)


def _table(name: str, value: Any) -> dict[str, Any] | None:
    """The value of a field as a table of its own fields; None where it has none."""
    if isinstance(value, Mapping):
        return dict(value)
    if name == "schedule":
        return dict(schedule_to_dict(as_schedule(value)))
    if name in PARTS and isinstance(value, tuple(PARTS[name].values())):
        return _part_to_dict(value)
    return {"kind": value} if name in PARTS and isinstance(value, str) else None


def rebase(schedule: Any, lr: float) -> Any:
    """The schedule with another base rate; of a wrapper, its inner one."""
    if hasattr(schedule, "base"):
        return dataclasses.replace(schedule, base=lr)
    if hasattr(schedule, "schedule"):
        return dataclasses.replace(schedule, schedule=rebase(schedule.schedule, lr))
    problem = f"does not apply to schedule kind {schedule.kind!r}"
    raise InputError("lr", lr, problem, "Name the rates in --schedule.")


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables to dotted names.

    >>> flatten({"seed": 1, "model": {"kind": "gru", "reset": "after"}})
    {'seed': 1, 'model.kind': 'gru', 'model.reset': 'after'}
    """
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


def coerce(field: str, value: object, hint: Any) -> Any:
    """`value` as the type of its field; text from a command line is read as that type.

    >>> coerce("seed", "3", int), coerce("drop_last", "true", bool)
    (3, True)
    >>> coerce("model.hiddens", "64,32", tuple[int, ...])
    (64, 32)
    """
    if typing.get_origin(hint) is tuple:
        parts: Any = value
        if isinstance(value, str):
            parts = [part.strip() for part in value.strip(" []()").split(",")]
        elif not isinstance(value, list | tuple):
            parts = [value]
        return tuple(coerce(field, p, typing.get_args(hint)[0]) for p in parts if p != "")
    try:
        if hint is bool:
            return _truth(value)
        if hint is int and isinstance(value, str):
            return int(value)
        if hint is float and isinstance(value, str | int) and not isinstance(value, bool):
            return float(value)
    except ValueError as error:
        name = _NAMES[hint]
        raise InputError(field, value, f"must be {name}", f"Give {name}.") from error
    if hint is str and not isinstance(value, str):
        raise InputError(field, value, "must be text", "Put it in quotes.")
    return value


_NAMES = {int: "a whole number", float: "a number", bool: "true or false"}


def _truth(value: object) -> bool:
    if isinstance(value, bool):
        return value
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if str(value).lower() not in words:
        raise ValueError(value)
    return words[str(value).lower()]


def _part(name: str, value: Any) -> Any:
    kinds = PARTS[name]
    if isinstance(value, tuple(kinds.values())):
        return value
    if not isinstance(value, str | Mapping):
        remedy = f"Give the kind ({', '.join(kinds)}), or a table with kind and fields."
        raise InputError(name, value, "does not say its kind", remedy)
    table = {"kind": value} if isinstance(value, str) else dict(value)
    kind = table.pop("kind", None)
    if not isinstance(kind, str) or kind not in kinds:
        raise unknown(f"{name}.kind", kind, kinds)
    cls = kinds[kind]
    hints = typing.get_type_hints(cls)
    known = [item.name for item in dataclasses.fields(cls)]
    for key in table:
        if not known:
            problem = f"{kind} has no such field"
            raise InputError(f"{name}.{key}", table[key], problem, "Leave it out.")
        if key not in known:
            raise unknown(f"{name} field (of {kind})", key, known)
    return cls(**{k: coerce(f"{name}.{k}", v, hints[k]) for k, v in table.items()})


def _schedule(value: Any) -> Any:
    return (
        schedule_from_dict(_read_texts(value)) if isinstance(value, Mapping) else as_schedule(value)
    )


def _read_texts(table: Mapping[str, Any]) -> dict[str, Any]:
    """A schedule's table with text (from a command line) read as the types of its fields."""
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        return dict(table)
    hints = typing.get_type_hints(KINDS[kind])
    values = dict(table)
    for name, value in table.items():
        if isinstance(value, Mapping):
            values[name] = _read_texts(value)
        elif isinstance(value, list):
            values[name] = [_read_texts(v) if isinstance(v, Mapping) else v for v in value]
        elif isinstance(value, str) and name in hints:
            values[name] = _read_text(f"schedule.{name}", value, hints[name])
    return values


def _read_text(field: str, text: str, hint: Any) -> Any:
    if hint is Schedule:
        return as_schedule(text)
    # "int | None" is read as int: a field is left at None by leaving it out
    options = [option for option in typing.get_args(hint) if option is not type(None)]
    optional = isinstance(hint, types.UnionType)
    return coerce(field, text, options[0] if optional else hint)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, tuple | list) else value
