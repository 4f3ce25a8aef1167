"""docs/environment-variables.md names the variables that the code reads or sets, and no others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import lockstep

SOURCE = Path(lockstep.__file__).parent
TABLE = Path(__file__).parents[1] / "docs" / "environment-variables.md"
NAME = re.compile(r"[A-Z]{4,}|[A-Z]{2,}[A-Z0-9]*(_[A-Za-z0-9]+)+_?")
METHODS = {"get", "setdefault", "pop"}
MAPPINGS = {
    "environ",
    "environment",
    "variables",
    "others",
    "meeting",
}  # what the code calls such a mapping


def names_in(path: Path) -> Iterator[str]:
    """The variables of a file: keys of a mapping of them, and arguments beside one."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        for key in keys(node):
            value = key.value if isinstance(key, ast.Constant) else None
            value = constants.get(key.id) if isinstance(key, ast.Name) else value
            if isinstance(value, str) and NAME.fullmatch(value):
                yield value


def keys(node: ast.AST) -> list[ast.expr]:
    """What stands where the name of a variable would, if this is about variables at all."""
    match node:
        case ast.Subscript(value=mapping, slice=key) if is_mapping(mapping):
            return [key]
        case ast.Compare(left=key, comparators=[mapping]) if is_mapping(mapping):
            return [key]
        case ast.Call(func=ast.Attribute(value=mapping, attr=attr), args=[key, *_]) if (
            attr in METHODS and is_mapping(mapping)
        ):
            return [key]
        case ast.Call(args=[mapping, *rest]) if is_mapping(mapping):
            return list(rest)
        case ast.Dict(keys=found):
            return [key for key in found if key is not None]
    return []


def is_mapping(node: ast.AST) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name in MAPPINGS


def test_the_table_is_what_the_code_reads() -> None:
    found = {name for path in SOURCE.rglob("*.py") for name in names_in(path)}
    rows = [line for line in TABLE.read_text().splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`([A-Za-z_]+)`", row.split("|")[1])}
    assert named == found


def test_a_variable_that_is_read_is_found(tmp_path: Path) -> None:
    file = tmp_path / "reads.py"
    file.write_text('import os\nX = "LOCKSTEP_X"\nos.environ.get(X)\n"LOCKSTEP_Y" in os.environ\n')
    assert set(names_in(file)) == {"LOCKSTEP_X", "LOCKSTEP_Y"}
