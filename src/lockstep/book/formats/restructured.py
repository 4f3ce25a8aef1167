"""The book's reStructuredText: cells are `.. code:: python` blocks, and a tab is a panel between
two pieces of raw HTML, whose id begins with the tab's name.

Prose becomes Markdown as far as a reader of the code needs it; what cannot be shown is left out.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from lockstep.book.pieces import ALL, Piece, cell, prose

_DIRECTIVE = re.compile(r"^\.\. ([\w-]+)::[ \t]*(.*)$")
_PANEL = re.compile(r'class="mdl-tabs__panel[^"]*"\s+id="([a-z]+)')
_UNDERLINES = "=-~^*+"


def is_this(text: str) -> bool:
    """Whether a text is reStructuredText with code.

    >>> is_this(".. code:: python\\n\\n    1 + 1\\n"), is_this("```{.python .input}\\n1\\n```")
    (True, False)
    """
    return re.search(r"^\.\. code(?:-block)?:: python", text, re.MULTILINE) is not None


def pieces(text: str) -> list[Piece]:
    r"""Prose and cells in their order. A cell outside the panels is for every tab.

    >>> pieces("Add.\n\n.. code:: python\n\n    1 + 1\n\nDone.\n")
    [Prose(text='Add.', tabs=()), Cell(source='1 + 1', tabs=('all',)), Prose(text='Done.', tabs=())]
    """
    found: list[Piece] = []
    tab = ""
    for name, argument, body in _blocks(text.replace("\r\n", "\n").expandtabs(8)):
        panel = _PANEL.search(body) if name == "raw" else None
        if panel:
            tab = panel[1]
        elif name == "raw":
            tab = "" if "</div>" in body else tab
        elif name in ("code", "code-block") and argument == "python":
            found.append(cell(body, (tab or ALL,)))
        elif name == "math":
            found += prose(f"$${argument}\n{body}$$", (tab,) if tab else ())
        elif name == "":
            found += prose(as_markdown(body), (tab,) if tab else ())
    return _with_panels_named(found)


def _with_panels_named(found: list[Piece]) -> list[Piece]:
    """A chapter without panels has one tab, which its cells' imports tell."""
    if any(piece.tabs and piece.tabs != (ALL,) for piece in found):
        return found
    sources = "\n".join(getattr(piece, "source", "") for piece in found)
    if not re.search(r"^\s*from d2l import \w+", sources, re.MULTILINE):
        return found
    return [cell(piece.source) if hasattr(piece, "source") else piece for piece in found]


def _blocks(text: str) -> Iterator[tuple[str, str, str]]:
    """Directives with their name, argument and indented body; text between them has no name."""
    lines = text.split("\n")
    plain: list[str] = []
    place = 0
    while place < len(lines):
        directive = _DIRECTIVE.match(lines[place])
        if directive is None:
            plain.append(lines[place])
            place += 1
            continue
        yield "", "", "\n".join(plain)
        plain = []
        end = place + 1
        while end < len(lines) and (not lines[end].strip() or lines[end][0] == " "):
            end += 1
        body = textwrap.dedent("\n".join(lines[place + 1 : end]))
        yield directive[1], directive[2].strip(), _without_fields(body).strip("\n")
        place = end
    yield "", "", "\n".join(plain)


def _without_fields(body: str) -> str:
    """A directive's options (`:name: value`) come first, before a blank line."""
    return re.sub(r"\A(?:[ \t]*:[\w-]+:[^\n]*\n)+", "", body)


def as_markdown(text: str) -> str:
    r"""Headings, code, mathematics and links of prose as Markdown; targets are left out.

    >>> as_markdown(".. _sec_a:\n\nA title\n=======\n\nSee ``x`` and :math:`y^2`.")
    '# A title\n\nSee `x` and $y^2$.'
    """
    text = re.sub(r"^\.\. _[^\n]*:\s*$\n?", "", text, flags=re.MULTILINE)

    def heading(found: re.Match[str]) -> str:
        return f"{'#' * (_UNDERLINES.index(found[2][0]) + 1)} {found[1].strip()}"

    text = re.sub(r"^(\S[^\n]*)\n(([=\-~^*+])\3{2,})[ \t]*$", heading, text, flags=re.MULTILINE)
    text = re.sub(r":math:`([^`]*)`", r"$\1$", text)
    text = re.sub(r":cite(?::\w)?:`([^`]*)`", r"[\1]", text)
    text = re.sub(r":\w+:`([^`]*)`", r"`\1`", text)
    text = re.sub(r"`([^`<]+)\s<([^>`]+)>`__?", r"[\1](\2)", text)
    text = re.sub(r"``([^`]+)``", r"`\1`", text)
    return text.strip()
