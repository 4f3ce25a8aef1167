"""How the d2l names behave: in full, or quick; on which devices; and where figures are drawn.

`set` is called before a framework's names are imported. What is shortened is noted, so that a
result never looks like that of a full run.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Options:
    """The numbers hold where `quick` is set, and say how much of each is left."""

    quick: bool = False
    epochs: int = 10  # of train_ch8, whose epochs are short
    image_epochs: int = 2  # of train_ch3, train_ch6, train_ch13
    train_batches: int = 4  # of a pass over images
    test_batches: int = 2
    loss_batches: int = 150  # of an evaluation of the loss
    live: bool = True  # figures are drawn while they grow, not only when they are finished
    figures: str = "auto"  # notebook, terminal, a folder; auto: by where the code runs
    notes: list[str] = field(default_factory=list)  # what was done otherwise than asked


_current = Options()


def current() -> Options:
    return _current


def set(  # `options.set(quick=True)` is what it does
    *, quick: bool | None = None, live: bool | None = None, figures: str | None = None
) -> Options:
    """Change what is given.

    >>> set(quick=True).quick, set(quick=False).quick
    (True, False)
    """
    global _current
    given = {"quick": quick, "live": live, "figures": figures}
    changes = {name: value for name, value in given.items() if value is not None}
    _current = replace(_current, **changes)  # type: ignore[arg-type]
    return _current


def shortened(what: str, asked: int, most: int) -> int:
    """`asked`, or in a quick run at most `most`, which is noted once for each text.

    >>> shortened("epochs", 30, 2)
    30
    """
    if not _current.quick or asked <= most:
        return asked
    note(f"{what}: {most} of {asked:,}")
    return most


def note(text: str) -> None:
    """Remember what a reader of the results must know."""
    if text not in _current.notes:
        _current.notes.append(text)


def figures() -> str:
    """Where figures go: LOCKSTEP_FIGURES (a folder) if it is set and nothing else was asked."""
    asked = _current.figures
    return os.environ.get("LOCKSTEP_FIGURES", "auto") if asked == "auto" else asked
