"""Tables, headings and lines in one style: by rich on a terminal, plain where piped."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from rich import box
from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from lockstep.showing import has_colour, is_live

PIPED_WIDTH = 160  # a pipe has no edge at which to fold
WIDEST = 10_000


@dataclass(frozen=True)
class TextTable:
    """A table as plain text, for a terminal and for a page. Columns hold numbers unless they are
    named in `left`."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: Sequence[str] = ()
    title: str = ""


def console(file: TextIO | None = None) -> Console:
    """A console on stdout; without colour, and wide, where that is not a terminal."""
    file = file or sys.stdout
    if is_live(file):
        return Console(
            file=file,
            highlight=False,
            force_jupyter=False,
            color_system="auto" if has_colour() else None,
        )
    asked = os.environ.get("COLUMNS", "")
    width = max(PIPED_WIDTH, int(asked) if re.fullmatch("[0-9]{1,5}", asked) else 0)
    plain: dict[str, Any] = {"force_terminal": False, "color_system": None, "width": width}
    # in a notebook rich would display what is printed to any file
    return Console(file=file, highlight=False, force_jupyter=False, **plain)


def table(*columns: str, left: Sequence[str] = ()) -> Table:
    """An empty table in the house style; columns hold numbers unless named in `left`."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for name in columns:
        made.add_column(name, justify="left" if name in left else "right", overflow="fold")
    made.columns[0].no_wrap = True
    return made


def filled(
    columns: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    left: Sequence[str] = (),
    wrap: bool = True,
) -> Table:
    """A table of text, which is never read as markup. Without `wrap` no cell is folded."""
    made = table(*columns, left=left)
    for row in rows:
        made.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    for column in () if wrap else made.columns:
        column.no_wrap = True
    return made


def columns(rows: Iterable[Sequence[str]]) -> Table:
    """Text in columns, without a head; only the last one is folded."""
    made = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for row in rows:
        made.add_row(*map(Text, row))
    for column in made.columns[:-1]:
        column.no_wrap = True
    for column in made.columns[-1:]:
        column.overflow = "fold"  # a path is not to be cut
    return made


def show(parts: Iterable[RenderableType | TextTable], file: TextIO | None = None) -> None:
    """Print tables, headings and lines one below the other. Lines are not folded. A table whose
    words do not fit its terminal is printed as a list; elsewhere it is as wide as it has to be."""
    out = console(file)
    for part in _renderable(parts):
        for text in _fitting(part, out):
            with out.capture() as printed:
                out.print(text, soft_wrap=isinstance(text, Text))
            for line in printed.get().splitlines():
                print(line.rstrip(), file=out.file)


def _fitting(part: RenderableType, out: Console) -> Iterator[RenderableType]:
    """The part as its console can print it."""
    if isinstance(part, str):
        yield Text(part)  # a path is no markup
    elif not isinstance(part, Table):
        yield part
    elif not out.is_terminal:
        out.width = max(out.width, _most_width(part, out))
        yield _with_words_whole(part, out)
    elif part.show_header and _least_width(part, out) > out.width:
        heads = [str(column.header) for column in part.columns]
        rows = zip(*(column.cells for column in part.columns), strict=True)
        for place, cells in enumerate(rows):
            if place:
                yield Text("")
            yield facts_table([(n, c) for n, c in zip(heads, cells, strict=True) if str(c)])
    else:
        yield _with_words_whole(part, out)


def _ranges(made: Table, out: Console) -> list[Measurement]:
    """From the longest word of each column to its longest line."""
    options = out.options.update(max_width=WIDEST)
    found = []
    for column in made.columns:
        cells = [column.header, *column.cells] if made.show_header else list(column.cells)
        ranges = [Measurement.get(out, options, cell) for cell in cells] or [Measurement(0, 0)]
        most = max(item.maximum for item in ranges)
        found.append(Measurement(max(most if column.no_wrap else r.minimum for r in ranges), most))
    return found


def _least_width(made: Table, out: Console) -> int:
    return sum(item.minimum for item in _ranges(made, out)) + _between(made)


def _most_width(made: Table, out: Console) -> int:
    return sum(item.maximum for item in _ranges(made, out)) + _between(made)


def _between(made: Table) -> int:
    """What a table takes beside its columns' text."""
    left, right = made.padding[3], made.padding[1]
    lines = len(made.columns) - 1 if made.box else 0
    return len(made.columns) * (left + right) + lines


def _with_words_whole(made: Table, out: Console) -> Table:
    """The table with widths that break no word, if there are such; rich alone would break them."""
    ranges, room = _ranges(made, out), out.width - _between(made)
    spare = room - sum(item.minimum for item in ranges)
    wanted = sum(item.span for item in ranges)
    if wanted > spare >= 0:
        for column, item in zip(made.columns, ranges, strict=True):
            column.width = item.minimum + spare * item.span // wanted
    return made


def _renderable(parts: Iterable[RenderableType | TextTable]) -> Iterator[RenderableType]:
    for part in parts:
        if isinstance(part, TextTable):
            if part.title:
                yield Text(f"\n{part.title}", "bold")
            yield filled(part.columns, part.rows, left=part.left)
        else:
            yield part


def facts_table(facts: Sequence[tuple[str, RenderableType]]) -> Table:
    """Names and values, side by side."""
    made = Table(box=None, show_header=False, pad_edge=False)
    made.add_column(style="dim")
    made.add_column(overflow="fold")
    for name, value in facts:
        made.add_row(name, Text(value) if isinstance(value, str) else value)
    return made
