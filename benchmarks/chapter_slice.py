"""Which of a chapter's cells a training needs. Nothing here runs a cell."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Sequence

ASKED = {"train", "train_sgd", "train_concise_ch11", "train_ch8"}  # what cells call to train


def needed(sources: Sequence[str], target: int) -> list[int]:
    """The cells that a cell depends on, by the names that they define, and the cell itself.

    >>> needed(["a = 1", "b = 2", "def f(b): return a", "f(3)"], 3)
    [0, 2, 3]
    """
    names = [_names(source) for source in sources]
    wanted, found = names[target][1], [target]
    for place in range(target - 1, -1, -1):
        defined, used = names[place]
        if defined & wanted:
            found.append(place)
            wanted = (wanted - defined) | used
    return found[::-1]


def _names(source: str) -> tuple[set[str], set[str]]:
    """What a cell defines, and what it uses of others."""
    table = symtable.symtable(source, "cell", "exec")
    defined = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
    used = {s.get_name() for s in table.get_symbols() if s.is_referenced()}
    inner = list(table.get_children())
    while inner:
        part = inner.pop()
        used |= {s.get_name() for s in part.get_symbols() if s.is_global()}
        inner += part.get_children()
    return defined, used - defined


def training_cell(sources: Sequence[str], call: int) -> int:
    """The cell of a training: those that are asked for outside functions are counted from 0.

    >>> training_cell(["def train(): ...", "train()", "d2l.train_ch8(1)"], 1)
    2
    """
    return [place for place, source in enumerate(sources) if _trains(source)][call]


def _trains(source: str) -> bool:
    outside = [s for s in ast.parse(source).body if not isinstance(s, ast.FunctionDef)]
    calls = [node.func for s in outside for node in ast.walk(s) if isinstance(node, ast.Call)]
    return any(getattr(f, "id", getattr(f, "attr", "")) in ASKED for f in calls)
