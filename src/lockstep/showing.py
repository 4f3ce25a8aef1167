"""How results show themselves (`result.plot()`, `comparison.show()`), how far a run is, and whether
a person looks on: in a terminal or in a notebook.

The drawing is in report/, a room to the right of those whose objects are shown. The package itself
connects the two (`lockstep/__init__.py`), so that no room imports from its right. Nothing here
draws.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TextIO

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

Presenter = Callable[..., Any]


class Picture(Protocol):
    """What `plot()` gives: it was shown where a person looks on, and can be kept."""

    @property
    def figure(self) -> Figure:
        """The same as a figure of matplotlib, to change it."""
        ...

    def save(self, path: str | Path) -> Path:
        """Write it as PNG or SVG, by the suffix of the name."""
        ...


_find: list[Callable[[str], Presenter]] = []


def connect(find: Callable[[str], Presenter]) -> None:
    """Let `find(name)` give the function that presents something, imported when it is asked for."""
    _find[:] = [find]


def present(name: str, *arguments: Any) -> Any:
    """Call the presenter of that name: a function of report/presenters.py."""
    return _find[0](name)(*arguments)


class ShowsItself:
    """What presents itself by name: as text where it is printed, as HTML at the end of a cell.

    >>> class Found(ShowsItself, as_="result"): ...  # by presenters result_text and result_html
    >>> Found._as
    'result'
    """

    _as: ClassVar[str]

    def __init_subclass__(cls, as_: str, **others: Any) -> None:
        super().__init_subclass__(**others)
        cls._as = as_

    def __repr__(self) -> str:
        text: str = present(f"{self._as}_text", self)
        return text

    def _repr_html_(self) -> str:
        html: str = present(f"{self._as}_html", self)
        return html


@contextmanager
def following(name: str, progress: bool | None, *arguments: Any) -> Iterator[Any]:
    """While inside, what the presenter `name` follows some work with; None where nobody looks on.

    `progress` False shows nothing, True shows it in any case.
    """
    if progress is False or (progress is None and not is_watched()):
        yield None
        return
    with present(name, *arguments) as follower:
        yield follower


@contextmanager
def reporting(
    name: str, progress: Callable[..., None] | bool | None, *arguments: Any
) -> Iterator[Callable[..., None]]:
    """While inside, what is called with the news of some work: `progress` itself if it is a
    function, else what the presenter `name` shows them with, where a person looks on."""
    if callable(progress):
        yield progress
        return
    with following(name, progress, *arguments) as follower:
        yield follower or (lambda *news: None)


# --- where a person looks on ----------------------------------------------------------------------


def is_watched() -> bool:
    """Whether a person sees what this process shows: in a notebook, or in a terminal. What goes to
    a file or another program is not watched."""
    return in_kernel() or (sys.stderr is not None and is_live(sys.stderr))


def has_colour() -> bool:
    """Whether a terminal may be written to in colour: unless NO_COLOR is set."""
    return not os.environ.get("NO_COLOR")


def is_redrawn(file: TextIO) -> bool:
    """Whether lines there are redrawn; a person who wants no colour gets plain lines."""
    return is_live(file) and has_colour()


def is_live(file: TextIO) -> bool:
    """Whether lines there can be redrawn: a terminal, and not a dumb one."""
    return file.isatty() and os.environ.get("TERM") != "dumb"


def in_kernel() -> bool:
    """Whether this code runs in a Jupyter kernel, whose outputs someone shows."""
    shell = ipython()
    return shell is not None and hasattr(shell, "kernel")


def ipython() -> Any:
    """The running IPython shell, None where there is none; it is not imported for that."""
    module = sys.modules.get("IPython")
    return module.get_ipython() if module is not None else None
