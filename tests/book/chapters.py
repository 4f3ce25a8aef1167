"""Small chapters of our own in each of the formats, with the cells that they consist of."""

from __future__ import annotations

import json

# what a chapter says: the tabs of a cell, and its code
Cells = list[tuple[tuple[str, ...], str]]


def as_markdown(cells: Cells, mark: str = "#@tab") -> str:
    """The book's Markdown; a cell without tabs has no mark."""
    parts = ["# Adding\n:label:`sec_adding`\n\nWe add, see :numref:`sec_sums`.\n"]
    for tabs, code in cells:
        head = f"{mark} {', '.join(tabs)}\n" if tabs else ""
        parts.append(f"```{{.python .input}}\n{head}{code}\n```\n")
        parts.append("Some [**words**] between, and `code`.\n\n```\nnot a cell\n```\n")
    return "\n".join(parts)


def as_restructured(cells: Cells) -> str:
    """The book's reStructuredText: a group of panels for every cell with tabs."""
    parts = [".. _sec_adding:\n\nAdding\n======\n\nWe add, see :numref:`sec_sums`.\n"]
    for number, (tabs, code) in enumerate(cells):
        block = ".. code:: python\n\n" + "".join(f"    {line}\n" for line in code.split("\n"))
        if tabs == ("all",) or not tabs:
            parts.append(block)
            continue
        parts.append(_raw('<div class="mdl-tabs"><div class="mdl-tabs__tab-bar code"></div>'))
        for place, tab in enumerate(tabs):
            parts.append(_raw(f'<div class="mdl-tabs__panel " id="{tab}-{number}-{place}">'))
            parts.append(".. raw:: latex\n\n   \\diilbookstyleinputcell\n")
            parts.append(block)
            parts.append(_raw("</div>"))
        parts.append(_raw("</div>"))
        parts.append("Words between :math:`a` and ``b``.\n")
    return "\n\n".join(parts)


def _raw(text: str) -> str:
    return f".. raw:: html\n\n    {text}\n"


def as_notebook(cells: Cells) -> str:
    """A notebook whose cells have their tabs in the metadata, as the book's builder writes them."""
    items = [{"cell_type": "markdown", "metadata": {}, "source": ["# Adding\n", "\n", "We add."]}]
    for tabs, code in cells:
        lines = code.splitlines(keepends=True)
        metadata = {"tab": list(tabs)} if tabs else {}
        items.append(
            {"cell_type": "code", "metadata": metadata, "source": lines, "outputs": [],
             "execution_count": None}
        )  # fmt: skip
    return json.dumps({"cells": items, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
