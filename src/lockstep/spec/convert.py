"""Between a RunSpec and text: plain dictionaries, TOML, JSON, and fields by dotted name."""

from __future__ import annotations

import dataclasses
import json
import tomllib
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockstep.errors import InputError, unknown
from lockstep.schedules import parse_schedule, schedule_from_dict, schedule_to_dict
from lockstep.spec.parts import DATA, MODELS, OPTIMIZERS

if TYPE_CHECKING:
    from lockstep.spec.run import RunSpec

PARTS: dict[str, Mapping[str, type]] = {"data": DATA, "model": MODELS, "optimizer": OPTIMIZERS}


def to_dict(spec: RunSpec) -> dict[str, Any]:
    """Plain values only: numbers, text, lists and tables."""
    values: dict[str, Any] = {}
    for item in dataclasses.fields(spec):
        value = getattr(spec, item.name)
        if item.name in PARTS:
            value = {"kind": value.kind} | _plain(dataclasses.asdict(value))
        elif item.name == "schedule":
            value = schedule_to_dict(value)
        values[item.name] = value
    return _tables_last(_plain(values))


def from_dict(cls: type[RunSpec], values: Mapping[str, Any]) -> RunSpec:
    """The spec described by plain values; every mistake names its field."""
    hints = typing.get_type_hints(cls)
    known = [item.name for item in dataclasses.fields(cls)]
    arguments: dict[str, Any] = {}
    for name, value in values.items():
        if name not in known:
            raise unknown("field", name, known)
        if name in PARTS:
            arguments[name] = _part(name, value)
        elif name == "schedule":
            arguments[name] = _schedule(value)
        else:
            arguments[name] = coerce(name, value, hints[name])
    required = [f.name for f in dataclasses.fields(cls) if f.default is dataclasses.MISSING]
    for name in required:
        if name not in arguments:
            raise InputError(name, None, "is missing", f"Every run needs {', '.join(required)}.")
    return cls(**arguments)


def with_fields(spec: RunSpec, changes: Mapping[str, object]) -> RunSpec:
    """A copy with dotted fields replaced. A new `kind` starts from that kind's own defaults."""
    values = to_dict(spec)
    # kinds first: "--model.kind rnn --model.num_hiddens 64" must hold in either order
    for name, value in sorted(changes.items(), key=lambda item: not item[0].endswith(".kind")):
        head, _, tail = name.partition(".")
        if (head == "schedule" and not tail) or not tail:
            values[head] = value
        elif head in PARTS or head == "schedule":
            table = values[head] if isinstance(values[head], dict) else {}
            values[head] = {tail: value} if tail == "kind" else {**table, tail: value}
        else:
            raise unknown("field", name, flatten(values))
    return from_dict(type(spec), values)


def rebase(schedule: Any, lr: float) -> Any:
    """The schedule with another base rate; of a wrapper, its inner one."""
    names = {item.name for item in dataclasses.fields(schedule)}
    if "base" in names:
        return dataclasses.replace(schedule, base=lr)
    if "schedule" in names:
        return dataclasses.replace(schedule, schedule=rebase(schedule.schedule, lr))
    raise InputError(
        "lr",
        lr,
        f"does not apply to schedule kind {schedule.kind!r}",
        "Name the rates in --schedule.",
    )


def to_toml(values: Mapping[str, Any]) -> str:
    """TOML text, top-level fields first."""
    import tomli_w

    return tomli_w.dumps(_tables_last(values))


def read(path: Path) -> dict[str, Any]:
    """A dictionary from a TOML or JSON file."""
    try:
        text = path.read_text()
    except OSError as error:
        raise InputError(
            "file", str(path), error.strerror or "cannot be read", "Check the path."
        ) from error
    try:
        return json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(
            "file", str(path), f"is not valid {path.suffix[1:]}: {error}", "Mend that line."
        ) from error


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
    if isinstance(hint, types.GenericAlias) or typing.get_origin(hint) is tuple:
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, list | tuple):
            parts = [parts]
        return tuple(coerce(field, p, typing.get_args(hint)[0]) for p in parts if p != "")
    try:
        if hint is bool:
            return _truth(value)
        if hint is int and isinstance(value, str):
            return int(value)
        if hint is float and isinstance(value, str | int) and not isinstance(value, bool):
            return float(value)
    except ValueError as error:
        raise InputError(
            field, value, f"is not a {_NAMES[hint]}", f"Give a {_NAMES[hint]}."
        ) from error
    if hint is str and not isinstance(value, str):
        raise InputError(field, value, "must be text", "Put it in quotes.")
    return value


_NAMES = {int: "whole number", float: "number", bool: "true or false"}


def _truth(value: object) -> bool:
    if isinstance(value, bool):
        return value
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if str(value).lower() not in words:
        raise ValueError(value)
    return words[str(value).lower()]


def _part(name: str, value: Any) -> Any:
    table = {"kind": value} if isinstance(value, str) else dict(value)
    kinds = PARTS[name]
    kind = table.pop("kind", None)
    if kind not in kinds:
        raise unknown(f"{name}.kind", kind, kinds)
    cls = kinds[kind]
    hints = typing.get_type_hints(cls)
    known = [item.name for item in dataclasses.fields(cls)]
    for key in table:
        if key not in known:
            raise (
                unknown(f"{name} field (of {kind})", key, known)
                if known
                else InputError(
                    f"{name}.{key}", table[key], f"{kind} has no such field", "Leave it out."
                )
            )
    return cls(**{k: coerce(f"{name}.{k}", v, hints[k]) for k, v in table.items()})


def _schedule(value: Any) -> Any:
    if isinstance(value, Mapping):
        return schedule_from_dict(value)
    return parse_schedule(str(value)) if isinstance(value, str | int | float) else value


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, tuple | list) else value


def _tables_last(values: Mapping[str, Any]) -> dict[str, Any]:
    plain = {k: v for k, v in values.items() if not isinstance(v, Mapping)}
    return plain | {k: v for k, v in values.items() if isinstance(v, Mapping)}
