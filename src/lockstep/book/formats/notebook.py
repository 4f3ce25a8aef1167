"""Jupyter notebooks: code cells, with the tab in their metadata or first line if they have one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lockstep.book.formats.markdown import cleaned
from lockstep.book.pieces import Piece, cell, prose


def pieces(content: Mapping[str, Any]) -> list[Piece]:
    """Prose and cells in their order, from what the file's JSON says.

    >>> code = {"cell_type": "code", "source": ["a = 1\\n", "a"], "metadata": {"tab": ["jax"]}}
    >>> pieces({"cells": [code]})
    [Cell(source='a = 1\\na', tabs=('jax',))]
    """
    found: list[Piece] = []
    for item in content["cells"]:
        source = item["source"]
        text = source if isinstance(source, str) else "".join(source)
        if item["cell_type"] == "markdown":
            found += prose(cleaned(text))
        elif item["cell_type"] == "code" and text.strip():
            named = item.get("metadata", {}).get("tab", ())
            found.append(cell(text, (named,) if isinstance(named, str) else tuple(named)))
    return found
