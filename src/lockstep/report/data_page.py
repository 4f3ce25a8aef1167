"""What is in a person's own file, as a page: facts, columns, small histograms, a few pictures."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import east_asian_width

import numpy as np

from lockstep.data.look import Column, Look
from lockstep.errors import InputError
from lockstep.files import write_whole
from lockstep.report import page
from lockstep.report.charts import SERIES
from lockstep.report.figures import new_figure, style
from lockstep.report.quantities import number
from lockstep.report.tables import TextTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_HISTOGRAMS = 12
MOST_BARS = 30
MOST_COLUMNS, MOST_COUNTS = 200, 60  # listed
LONGEST = 24  # characters of a name or of a value
ACROSS = 4  # histograms, and twice as many pictures


def check_page(path: Path) -> None:
    """Raise before a file is read if the page could not be written."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError("page", str(path), "is no page", "Name it .html.")


def write_data_page(found: Look, path: Path) -> Path:
    """Write the page; its path."""
    return write_whole(path, data_page(found).encode())


def data_page(found: Look) -> str:
    """The whole document."""
    table = data_table(found)
    return page.document(
        f"What is in {Path(found.path).name}",
        page.heading(f"What is in {Path(found.path).name}", f"Seen as {found.kind}."),
        page.section("In short", page.facts(data_facts(found)), *map(_line, found.remarks)),
        page.section("Train on it", page.code(found.command) if found.command else ""),
        page.section("Pictures", _pictures(found)),
        page.section(
            "Columns" if found.columns else "Counts", _charts(found), _listed(table), _more(found)
        ),
    )


def data_facts(found: Look) -> list[tuple[str, str]]:
    """Names and values."""
    facts = {"seen as": found.kind, **found.facts, "digest": found.digest}
    return [(name, _told(value)) for name, value in facts.items()]


def _told(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def data_table(found: Look) -> TextTable:
    """The columns of a table, or the counts of symbols or classes."""
    if not found.columns:
        name = "symbol" if found.kind == "text" else "class"
        total = sum(count for _, count in found.counts) or 1
        counts = [
            (
                _visible(value) if found.kind == "text" else value,
                f"{n:,}",
                f"{100 * n / total:.2f}%",
            )
            for value, n in found.counts[:MOST_COUNTS]
        ]
        return TextTable((name, "count", "share"), counts, left=(name,))
    names = ("number", "column", "kind", "missing", "least", "mean", "greatest", "values")
    rows = [
        (str(i), _short(c.name), c.kind, str(c.missing), *_range(c), _values(c))
        for i, c in enumerate(found.columns[:MOST_COLUMNS], 1)
    ]
    return TextTable(names, rows, left=("column", "kind", "values"))


def data_rest(found: Look) -> str:
    """What the table does not list; empty where it lists all."""
    rest = len(found.columns or found.counts) - len(data_table(found).rows)
    return f"and {rest:,} more, which --json lists" if rest > 0 else ""


def _range(column: Column) -> tuple[str, str, str]:
    least, mean, greatest = (
        "" if value is None else number(value)
        for value in (column.least, column.mean, column.greatest)
    )
    return least, mean, greatest


def _values(column: Column) -> str:
    shown = [f"{_short(value)} ({count})" for value, count in column.values[:6]]
    return ", ".join(shown) + (", ..." if len(column.values) > 6 else "")


def _short(text: str) -> str:
    """On one line, for cells of a file may have ends of lines and be long."""
    flat = " ".join(text.split())
    return flat if len(flat) <= LONGEST else f"{flat[: LONGEST - 3]}..."


def _visible(symbol: str) -> str:
    return symbol if symbol.isprintable() and symbol.strip() else repr(symbol)


def _line(remark: str) -> str:
    return page.banner("fair", "Note", remark)


def _listed(table: TextTable) -> str:
    left = [name in table.left for name in table.columns]
    rows = [
        [(cell, "text") if is_text else cell for cell, is_text in zip(row, left, strict=True)]
        for row in table.rows
    ]
    return page.table(table.columns, rows)


def _more(found: Look) -> str:
    rest = data_rest(found)
    return f"<p>{rest}</p>" if rest else ""


def _charts(found: Look) -> str:
    shown = [column for column in found.columns if _can_be_drawn(column)][:MOST_HISTOGRAMS]
    if shown:
        caption = f"How often each value is there, of {len(shown)} columns."
        names = [_short(column.name) for column in shown]
        drawn = page.figure(lambda: _histograms(shown, _stand_ins(names)), "columns", caption)
        return _named(drawn, names)
    if not found.counts:
        return ""
    counts = found.counts[:MOST_BARS]
    names = [_short(_visible(value))[:16] for value, _ in counts]
    drawn = page.figure(
        lambda: _bars([count for _, count in counts], _stand_ins(names)),
        "counts",
        "How often each is there.",
    )
    return _named(drawn, names)


def _can_be_drawn(column: Column) -> bool:
    """Whether an axis can tell the bins apart: floats have 16 digits, and drawing multiplies."""
    if column.least is None or column.greatest is None or not column.bins:
        return False
    largest = max(abs(column.least), abs(column.greatest))
    return largest * 1e-12 < column.greatest - column.least and 1e-100 < largest < 1e100


def _histograms(columns: list[Column], names: list[str]) -> Figure:
    rows = -(-len(columns) // ACROSS)
    figure = new_figure(9, 1.7 * rows)
    for i, column in enumerate(columns):
        axes = figure.add_subplot(rows, ACROSS, i + 1)
        style(axes, names[i], "", "")
        edges = np.linspace(column.least or 0.0, column.greatest or 0.0, len(column.bins) + 1)
        width = edges[1] - edges[0]
        axes.bar(edges[:-1], column.bins, width, align="edge", color=SERIES[0])
    return figure


def _bars(counts: list[int], names: list[str]) -> Figure:
    figure = new_figure(9, 3)
    axes = figure.add_subplot()
    style(axes, "", "", "count")
    axes.bar(range(len(counts)), counts, color=SERIES[0])
    axes.set_xticks(range(len(counts)), names, rotation=60, ha="right")
    return figure


def _stand_ins(names: Sequence[str]) -> list[str]:
    """Names as a figure takes them: its fonts may lack a script, and $ would begin a formula. A
    name that is neither is drawn as one of its width, and put in its place by `_named`."""
    plain = [name.isascii() and "$" not in name and name[:1] != "@" for name in names]
    widths = [sum(1 + (east_asian_width(c) in "WF") for c in name) for name in names]
    return [
        name if kept else f"@{i}".ljust(width, "@")
        for i, (name, kept, width) in enumerate(zip(names, plain, widths, strict=True))
    ]


def _named(svg: str, names: Sequence[str]) -> str:
    """With the names themselves, for a browser has the fonts that a figure lacks.

    >>> _named("<text>@0@</text>", ["价$"])
    '<text>价$</text>'
    """
    return re.sub(r">@(\d+)@*</text>", lambda m: f">{html.escape(names[int(m[1])])}</text>", svg)


def _pictures(found: Look) -> str:
    if found.pictures is None:
        return ""
    shown = ", ".join(found.labels)
    return page.figure(lambda: _grid(found), "pictures", f"From first to last: {shown}.")


def _grid(found: Look) -> Figure:
    assert found.pictures is not None
    rows = -(-len(found.pictures) // (2 * ACROSS))
    figure = new_figure(9, 1.2 * rows)
    for i, picture in enumerate(found.pictures):
        axes = figure.add_subplot(rows, 2 * ACROSS, i + 1)
        axes.axis("off")
        axes.imshow(picture if picture.ndim == 2 else picture.transpose(1, 2, 0), cmap="gray")
    return figure
