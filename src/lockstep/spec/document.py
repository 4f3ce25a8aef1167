"""A run as a TOML or JSON file: written, and read whatever the file is."""

from __future__ import annotations

import json
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lockstep.errors import InputError

EXAMPLE = "See `lockstep recipes airfoil-linear --json` for one."
DEEPEST = 50  # tables within tables: only schedules of schedules have more than two
TOO_DEEP = f"has more than {DEEPEST} tables or lists within each other"
LARGEST = 10**7  # bytes of a file; a spec has some hundreds


def tables_last(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same fields, those with fields of their own at the end, as TOML wants them."""
    plain = {k: v for k, v in values.items() if not isinstance(v, Mapping)}
    return plain | {k: v for k, v in values.items() if isinstance(v, Mapping)}


def to_toml(values: Mapping[str, Any]) -> str:
    """TOML text, top-level fields first."""
    import tomli_w

    return tomli_w.dumps(tables_last(values))


def read(path: Path) -> dict[str, Any]:
    """A dictionary from a TOML or JSON file."""
    kind = "json" if path.suffix == ".json" else "toml"
    text = _text(path)
    try:
        values = json.loads(text) if kind == "json" else tomllib.loads(text)
    except RecursionError as error:
        raise InputError("file", str(path), TOO_DEEP, EXAMPLE) from error
    except ValueError as error:
        problem = f"is not valid {kind}: {error}"
        raise InputError("file", str(path), problem, "Mend that line.") from error
    if not isinstance(values, dict):
        raise InputError("file", str(path), "holds no table of fields", EXAMPLE)
    if _depth(values) > DEEPEST:
        raise InputError("file", str(path), TOO_DEEP, EXAMPLE)
    return values


def _text(path: Path) -> str:
    """The text of a file; an InputError says why it cannot be read."""
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):  # a pipe or a device might never end
            raise InputError("file", str(path), "is not a file", "Give a TOML or JSON file.")
        if facts.st_size > LARGEST:
            problem = f"is larger than any description of a run ({LARGEST:,} bytes)"
            raise InputError("file", str(path), problem, EXAMPLE)
        content = path.read_bytes()
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise InputError("file", str(path), reason, "Check the path.") from error
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError("file", str(path), "is not a path", "Leave the NUL out.") from error
    try:
        return content.decode("utf-8-sig")  # an editor may have put a mark at the start
    except UnicodeDecodeError as error:
        problem = f"is not text in UTF-8 (byte {error.start})"
        raise InputError("file", str(path), problem, "Save it as UTF-8.") from error


def _depth(value: Any) -> int:
    """How many tables and lists are within each other.

    >>> _depth({"a": [1, [2]], "b": 3})
    3
    """
    depth, level = 0, [value]
    while level := [v for v in level if isinstance(v, dict | list)]:
        depth += 1
        level = [v for each in level for v in (each.values() if isinstance(each, dict) else each)]
    return depth
