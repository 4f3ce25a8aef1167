"""What several commands ask of their options: lists of words, and a figure that can be drawn."""

from __future__ import annotations

from lockstep.errors import InputError


def words(field: str, text: str) -> list[str]:
    """The words of a list, each once.

    >>> words("rules", "none, linear,none")
    ['none', 'linear']
    """
    found = list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if not found:
        raise InputError(field, text, "names nothing", "Give one or more, with commas between.")
    return found


def check_figure(path: str) -> None:
    """What would be wrong with a figure is told before anything is measured."""
    from pathlib import Path

    from lockstep.report.figures import FORMATS
    from lockstep.report.style import new_figure

    if not path:
        return
    if Path(path).suffix.lower() not in FORMATS:
        raise InputError("figure", path, "is neither PNG nor SVG", "Name it .png or .svg.")
    new_figure(1, 1)  # tells if nothing can draw here
