"""The two kinds of pieces that a chapter is made of: prose and code cells."""

from __future__ import annotations

import re
from dataclasses import dataclass

ALL = "all"  # the tab of what is for every tab


@dataclass(frozen=True)
class Prose:
    """Text in Markdown. No tabs: for every tab."""

    text: str
    tabs: tuple[str, ...] = ()

    def belongs_to(self, tab: str) -> bool:
        return not self.tabs or tab in self.tabs or ALL in self.tabs


@dataclass(frozen=True)
class Cell:
    """Code, exactly as it is run: without the line that names its tabs. No tabs: not known yet."""

    source: str
    tabs: tuple[str, ...]

    def belongs_to(self, tab: str) -> bool:
        return tab in self.tabs or ALL in self.tabs

    @property
    def first_line(self) -> str:
        """The first line that says something: neither blank, nor a mark, nor a magic.

        >>> Cell("%matplotlib inline\\n#@save\\nimport torch", ("pytorch",)).first_line
        'import torch'
        """
        lines = [line.strip() for line in self.source.splitlines() if line.strip()]
        telling = [line for line in lines if not line.startswith(("%", "#@"))]
        return (telling or lines or [""])[0]


Piece = Prose | Cell

_TAB = re.compile(r"^(?:#\s*@tab|%%tab)[ \t]+([\w, \t]+?)[ \t]*$", re.MULTILINE)


def cell(source: str, tabs: tuple[str, ...] = ()) -> Cell:
    """A cell from its source, in which `#@tab a, b` or `%%tab a, b` may name its tabs.

    >>> cell("#@tab pytorch, jax\\n1 + 1")
    Cell(source='1 + 1', tabs=('pytorch', 'jax'))
    """
    found = _TAB.search(source)
    if found is None or source[: found.start()].strip():  # it is a first line, or none
        return Cell(source.strip("\n"), tabs)
    rest = source[found.end() :].strip("\n")
    return Cell(rest, tuple(re.split(r"[,\s]+", found[1].strip(", \t"))))


def prose(text: str, tabs: tuple[str, ...] = ()) -> list[Prose]:
    """The text as a piece; nothing where there is no text."""
    return [Prose(text.strip(), tabs)] if text.strip() else []
