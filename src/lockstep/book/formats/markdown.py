"""The book's Markdown: cells are fenced blocks marked `{.python .input}`, `#@tab` or `%%tab` names
their tabs, and `:begin_tab:` to `:end_tab:` encloses prose of some tabs."""

from __future__ import annotations

import re

from lockstep.book.pieces import Piece, cell, prose

_CELL = re.compile(
    r"^(?P<fence>`{3,})[ \t]*\{[^}\n]*\.input[^}\n]*\}[^\n]*\n(?P<code>.*?)^(?P=fence)[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
_TAB = re.compile(r"^:begin_tab:`([^`]*)`(.*?)^:end_tab:", re.MULTILINE | re.DOTALL)
_LABEL = re.compile(r"^\s*:(?:eq)?label:`[^`]*`[ \t]*$\n?", re.MULTILINE)
_SWITCH = re.compile(r"^\s*%load_ext d2lbook|^\s*tab\.interact_select", re.MULTILINE)


def pieces(text: str) -> list[Piece]:
    r"""Prose and cells in their order.

    >>> pieces("Add.\n```{.python .input  n=3}\n%%tab all\n1 + 1\n```\n")
    [Prose(text='Add.', tabs=()), Cell(source='1 + 1', tabs=('all',))]
    """
    text = text.replace("\r\n", "\n")
    found: list[Piece] = []
    place = 0
    for block in _CELL.finditer(text):
        found += _prose(text[place : block.start()])
        if not _SWITCH.search(block["code"]):  # it chooses a tab in the book's own notebooks
            found.append(cell(block["code"]))
        place = block.end()
    return found + _prose(text[place:])


def _prose(text: str) -> list[Piece]:
    found: list[Piece] = []
    place = 0
    for block in _TAB.finditer(text):
        found += prose(cleaned(text[place : block.start()]))
        tabs = tuple(re.split(r"[,\s]+", block[1].strip()))
        found += prose(cleaned(block[2]), tabs)
        place = block.end()
    return found + list(prose(cleaned(text[place:])))


def cleaned(text: str) -> str:
    r"""Prose without the book's own marks: labels, references by label, and bold in brackets.

    >>> cleaned("# A\n:label:`a`\n\nSee :numref:`sec_b`, [**this**] and :cite:`Who.2016`.")
    '# A\n\nSee `sec_b`, **this** and [Who.2016].'
    """
    text = _LABEL.sub("", text)
    text = re.sub(r":(?:numref|eqref|ref):`([^`]*)`", r"`\1`", text)
    text = re.sub(r":cite[tp]?:`([^`]*)`", r"[\1]", text)
    return re.sub(r"[\[(](\*\*.+?\*\*)[\])]", r"\1", text, flags=re.DOTALL)
