"""How commands answer besides printing tables: JSON for programs, notes for people, a figure."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockstep.errors import InputError
from lockstep.files import json_safe

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def print_json(value: Any) -> None:
    """One line of JSON. It has no infinity: such numbers are text, as in a run's log.

    >>> print_json({"loss": 0.5, "perplexity": float("inf")})
    {"loss": 0.5, "perplexity": "inf"}
    """
    print(json.dumps(json_safe(value), allow_nan=False))


def answer(args: argparse.Namespace, values: Any, show: Callable[[], None]) -> None:
    """What a command found: as JSON if that was asked for, else as `show` prints it."""
    if args.json:
        print_json(values)
    else:
        show()


def print_columns(rows: Iterable[Sequence[str]]) -> None:
    """Text in columns, without a head."""
    from lockstep.report.tables import columns, show

    show([columns(rows)])


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table of text."""
    from lockstep.report.tables import filled, show

    show([filled(columns, rows, left=columns)])


def print_notes(notes: Iterable[str]) -> None:
    """What a person should know about a result, on stderr."""
    for note in notes:
        print(f"note: {note}", file=sys.stderr)


def add_open_option(
    parser: argparse.ArgumentParser, help: str = "open the page in the browser"
) -> None:
    """--open, for a command that writes a page."""
    parser.add_argument("--open", action="store_true", help=help)


def open_page(args: argparse.Namespace, page: str | Path) -> None:
    """Show a page in the browser if --open asks for it; where there is none, say where it is."""
    if not args.open:
        return
    import webbrowser

    address = Path(page).resolve().as_uri()
    if not webbrowser.open(address):
        print(f"no browser was found; the page is {address}", file=sys.stderr)


def add_figure_option(parser: argparse.ArgumentParser) -> None:
    """--figure FILE, "" unless it is given."""
    parser.add_argument("--figure", default="", metavar="FILE", help="draw a figure: .png or .svg")


def check_figure(path: str) -> None:
    """Raise before anything is measured if a figure could not be drawn; "" asks for none."""
    from lockstep.report.figures import FORMATS, new_figure

    if not path:
        return
    if Path(path).suffix.lower() not in FORMATS:
        raise InputError("figure", path, "is neither PNG nor SVG", "Name it .png or .svg.")
    new_figure(1, 1)  # raises where nothing can draw


def write_figure(figure: Figure, path: str | Path, file: Any = None) -> None:
    """Write a figure and say where it is; on stderr unless a file is given."""
    from lockstep.report.figures import save_figure

    print(f"figure: {save_figure(figure, path)}", file=file or sys.stderr)
