"""A chapter: prose and code cells in their order, each for some of the chapter's tabs.

A tab is the chapter's code in one framework. Reading imports no framework and runs nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lockstep.book.formats import markdown, notebook, restructured
from lockstep.book.pieces import ALL, Cell, Piece
from lockstep.errors import InputError, unknown

# the tabs there are, and the framework of each
TABS = {
    "pytorch": "torch",
    "mxnet": "mxnet",
    "tensorflow": "tensorflow",
    "jax": "jax",
    "paddle": "paddle",
    "mindspore": "mindspore",
}
TAB_OF = {framework: tab for tab, framework in TABS.items()}
UNNAMED_TAB = "mxnet"  # the tab of a cell that names none, in chapters with several tabs


class NoChapter(InputError):
    """A file without a code cell."""


@dataclass(frozen=True)
class Chapter:
    """What a chapter's file holds. `format` is Markdown, reStructuredText or notebook."""

    path: Path
    format: str
    title: str
    pieces: tuple[Piece, ...]

    @property
    def tabs(self) -> tuple[str, ...]:
        """The tabs that cells name, in the order of the file; where no cell does, every tab."""
        named = [tab for piece in self.pieces if isinstance(piece, Cell) for tab in piece.tabs]
        found = tuple(dict.fromkeys(tab for tab in named if tab != ALL))
        return found or (tuple(TABS) if named else ())

    def of_tab(self, tab: str) -> tuple[Piece, ...]:
        """The pieces that a reader of one tab sees; an unknown tab is an InputError."""
        if tab not in self.tabs:
            raise unknown("tab", tab, self.tabs)
        return tuple(piece for piece in self.pieces if piece.belongs_to(tab))

    def cells(self, tab: str) -> tuple[Cell, ...]:
        """The code cells of one tab, in their order."""
        return tuple(piece for piece in self.of_tab(tab) if isinstance(piece, Cell))


def read(path: str | Path) -> Chapter:
    """Read a chapter's file. One that cannot be read is an InputError; one without a code cell is
    a NoChapter."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")  # editors of Windows begin it with a mark
    except UnicodeDecodeError:
        raise _unreadable(path, "is not text in UTF-8") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise _unreadable(path, f"cannot be read ({reason})") from error
    return parse(text, path)


def parse(text: str, path: Path) -> Chapter:
    r"""A chapter from its text; the format is seen from the text, not from the file's name.

    >>> chapter = parse("# Sums\n```{.python .input}\n#@tab pytorch, jax\n1 + 1\n```\n", Path("a"))
    >>> chapter.format, chapter.title, chapter.tabs
    ('Markdown', 'Sums', ('pytorch', 'jax'))
    """
    if text.lstrip().startswith("{"):
        name, pieces = "notebook", _notebook_pieces(text, path)
    elif restructured.is_this(text):
        name, pieces = "reStructuredText", restructured.pieces(text)
    else:
        name, pieces = "Markdown", markdown.pieces(text)
    if not any(isinstance(piece, Cell) for piece in pieces):
        raise _unreadable(path, "has no code cell", NoChapter)
    whole = tuple(with_default_tab(pieces))
    return Chapter(path, name, _title(whole) or path.stem, whole)


def with_default_tab(pieces: Iterable[Piece]) -> list[Piece]:
    """Give each cell that names no tab its own: the framework that those cells import; else, where
    other cells name tabs, mxnet as in the older chapters; else all.

    >>> with_default_tab([Cell("from d2l import torch as d2l", ())])[0].tabs
    ('pytorch',)
    """
    pieces = list(pieces)
    cells = [piece for piece in pieces if isinstance(piece, Cell)]
    unnamed = "\n".join(cell.source for cell in cells if not cell.tabs)
    imported = re.search(r"^\s*from d2l import (\w+)", unnamed, re.MULTILINE)
    if imported and imported[1] in TAB_OF:
        default = TAB_OF[imported[1]]
    else:
        default = UNNAMED_TAB if any(set(cell.tabs) - {ALL} for cell in cells) else ALL
    return [
        Cell(piece.source, (default,)) if isinstance(piece, Cell) and not piece.tabs else piece
        for piece in pieces
    ]


def _notebook_pieces(text: str, path: Path) -> list[Piece]:
    try:
        return notebook.pieces(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _unreadable(path, f"is not a notebook that can be read ({error})") from None


def _title(pieces: Iterable[Piece]) -> str:
    for piece in pieces:
        if not isinstance(piece, Cell):
            found = re.search(r"^#\s+(.+)$", piece.text, re.MULTILINE)
            if found:
                return found[1].strip()
    return ""


def _unreadable(path: Path, problem: str, kind: type[InputError] = InputError) -> InputError:
    remedy = "Name a chapter of the book in Markdown or reStructuredText, or a notebook."
    return kind("chapter", str(path), problem, remedy)
