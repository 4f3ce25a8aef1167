"""What the options of several commands have in common: lists, numbers of devices, a figure."""

from __future__ import annotations

import argparse

from lockstep.errors import InputError


def words(field: str, text: str) -> list[str]:
    """The words of a list, each once.

    >>> words("rules", "none, linear,none")
    ['none', 'linear']
    """
    found = list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if not found:
        raise InputError(field, text, "has no entry", "Give one or more, separated by commas.")
    return found


def device_counts(text: str) -> list[int]:
    """Numbers of devices, each once.

    >>> device_counts("1,2,4,2")
    [1, 2, 4]
    """
    from lockstep.processes.splitting import check_num_devices

    found = []
    for word in words("devices", text):
        try:
            found.append(int(word))
        except ValueError:
            remedy = "Give counts separated by commas, such as 2,4,8."
            raise InputError("devices", word, "is not a whole number", remedy) from None
        check_num_devices(found[-1])
    return found


def add_figure_option(parser: argparse.ArgumentParser) -> None:
    """--figure FILE, "" unless it is given."""
    parser.add_argument("--figure", default="", metavar="FILE", help="draw a figure: .png or .svg")


def check_figure(path: str) -> None:
    """What would be wrong with a figure is told before anything is measured; "" asks for none."""
    from pathlib import Path

    from lockstep.report.figures import FORMATS
    from lockstep.report.style import new_figure

    if not path:
        return
    if Path(path).suffix.lower() not in FORMATS:
        raise InputError("figure", path, "is neither PNG nor SVG", "Name it .png or .svg.")
    new_figure(1, 1)  # tells if nothing can draw here
