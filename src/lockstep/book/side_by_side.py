"""One chapter in several tabs, side by side: the last values of its figures, and its cells' times.

The values are those that an Animator drew last; a notebook's output carries them as metadata.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lockstep.book.running import ChapterRun
from lockstep.d2l.drawing import METADATA
from lockstep.report.quantities import duration

Table = tuple[list[str], list[list[str]]]


def last_values(run: ChapterRun) -> list[dict[str, float]]:
    """For each figure that grew, in their order: the last value of each curve, by its name."""
    outputs = [output for item in run.cells for output in item.executed.outputs]
    found = [output.get("metadata", {}).get(METADATA) for output in outputs]
    return [values for values in found if values]


def value_table(runs: Sequence[ChapterRun]) -> Table:
    """A row for each curve of each figure, a column for each tab."""
    values = [last_values(run) for run in runs]
    rows = []
    for place in range(max(map(len, values), default=0)):
        figures = [each[place] if place < len(each) else {} for each in values]
        for name in dict.fromkeys(name for figure in figures for name in figure):
            numbers = [f"{figure[name]:.4g}" if name in figure else "" for figure in figures]
            rows.append([f"{place + 1}. {name}", *numbers])
    return ["figure", *(run.tab for run in runs)], rows


def time_table(runs: Sequence[ChapterRun]) -> Table:
    """A row for each cell's number and one for all, a column for each tab."""
    count = max((len(run.cells) for run in runs), default=0)
    rows = [[str(place + 1), *(_time(run, place) for run in runs)] for place in range(count)]
    rows.append(["all", *(duration(run.seconds) for run in runs)])
    return ["cell", *(run.tab for run in runs)], rows


def _time(run: ChapterRun, place: int) -> str:
    if place >= len(run.cells):
        return ""
    executed = run.cells[place].executed
    return f"{duration(executed.seconds)}{', failed' if executed.problem else ''}"


def to_dict(runs: Sequence[ChapterRun]) -> dict[str, Any]:
    """Plain values for a program, by tab."""
    return {run.tab: run.to_dict() | {"figures": last_values(run)} for run in runs}
