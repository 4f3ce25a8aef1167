"""The executed chapter as a notebook: prose, cells and what they showed, for Jupyter to open."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from lockstep.book.kernel import display_name, jupyter_name
from lockstep.book.pieces import Cell
from lockstep.book.running import NOT_RUN, ChapterRun

FORMAT = (4, 5)


def notebook(run: ChapterRun) -> dict[str, Any]:
    """The content of the .ipynb file, as nbformat 4.5 describes it."""
    runs = iter(run.cells)
    cells: list[dict[str, Any]] = []
    for place, piece in enumerate(run.chapter.of_tab(run.tab)):
        item: dict[str, Any] = {"id": _identity(place, run.tab), "metadata": {}}
        if isinstance(piece, Cell):
            done = next(runs)
            item |= {
                "cell_type": "code",
                "source": piece.source,
                "execution_count": None if done.executed is NOT_RUN else done.number,
                "outputs": done.executed.outputs,
            }
        else:
            item |= {"cell_type": "markdown", "source": piece.text}
        cells.append(item)
    return {
        "cells": cells,
        "metadata": {
            "kernelspec": {
                "name": jupyter_name(run.settings),
                "display_name": display_name(run.settings),
                "language": "python",
            },
            "language_info": {"name": "python"},
            "lockstep": {"tab": run.tab, "quick": run.settings.quick, "notes": list(run.notes)},
        },
        "nbformat": FORMAT[0],
        "nbformat_minor": FORMAT[1],
    }


def to_bytes(run: ChapterRun) -> bytes:
    return json.dumps(notebook(run), indent=1, ensure_ascii=False).encode()


def is_executed(path: Path) -> bool:
    """Whether a file is such a notebook, and no chapter that somebody wrote."""
    if path.suffix != ".ipynb":
        return False
    try:
        return "lockstep" in json.loads(path.read_bytes())["metadata"]
    except (OSError, ValueError, KeyError, TypeError):  # reading it as a chapter says what it is
        return False


def _identity(place: int, tab: str) -> str:
    """The name of a cell in the file: the same for the same chapter."""
    return hashlib.sha256(f"{place} {tab}".encode()).hexdigest()[:12]
