"""One chapter in several tabs, side by side: the last values of its figures, its cells' times, and
what Lockstep's own experiment of the chapter gives and takes in the same framework.

The values are those that an Animator drew last; a notebook's output carries them as metadata.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lockstep.book.own_runs import OwnRun
from lockstep.book.running import ChapterRun
from lockstep.d2l.drawing import METADATA
from lockstep.report.quantities import duration

Table = tuple[list[str], list[list[str]]]
Own = Mapping[str, Sequence[OwnRun]]  # by tab, in the order of the chapter's figures


class Figure(NamedTuple):
    """The last value of each curve, by its name, and the seconds of the cell that drew it."""

    values: dict[str, float]
    seconds: float


def figures(run: ChapterRun) -> list[Figure]:
    """Each figure that grew, in their order."""
    found = []
    for item in run.cells:
        for output in item.executed.outputs:
            last = output.get("metadata", {}).get(METADATA) or {}
            values = {name: float(value) for name, value in last.items()}  # "nan" is a text in JSON
            if values:
                found.append(Figure(values, item.executed.seconds))
    return found


def remarks(runs: Sequence[ChapterRun]) -> list[str]:
    """What a reader must know before the figures, whose number alone says which belong together."""
    said = "not every cell ran. If a figure is missing, later ones stand in the row before theirs."
    return [f"{run.tab}: {said}" for run in runs if not run.is_whole]


def value_table(runs: Sequence[ChapterRun], own: Own | None = None) -> Table:
    """A row for each curve of each figure and one for its time; a column for each tab, and one for
    Lockstep's own run in the same framework where there is one."""
    own = own or {}
    shown = [figures(run) for run in runs]
    head, rows = ["figure"], []
    for run in runs:
        head += [run.tab, f"Lockstep, {run.settings.framework}"] if own.get(run.tab) else [run.tab]
    for place in range(max(map(len, shown), default=0)):
        at = [each[place] if place < len(each) else None for each in shown]
        names = dict.fromkeys(name for figure in at if figure for name in figure.values)
        label = next((each[place].label for each in own.values() if place < len(each)), "")
        title = f"{place + 1}. {label}: " if label else f"{place + 1}. "
        for name in [*names, "time"]:
            row = [f"{title}{name}"]
            for run, figure in zip(runs, at, strict=True):
                row.append(_shown(figure, name))
                if own.get(run.tab):
                    mine = own[run.tab]
                    row.append(_own_shown(mine[place], name) if place < len(mine) else "")
            rows.append(row)
    return head, rows


def _shown(figure: Figure | None, name: str) -> str:
    if figure is None:
        return ""
    if name == "time":
        return duration(figure.seconds)
    return f"{figure.values[name]:.4g}" if name in figure.values else ""


def _own_shown(run: OwnRun, name: str) -> str:
    if name == "time":
        return duration(run.seconds)
    value = run.value(name)
    return "" if value is None else f"{value:.4g}"


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


def to_dict(runs: Sequence[ChapterRun], own: Own | None = None) -> dict[str, Any]:
    """Plain values for a program, by tab."""
    mine = own or {}
    return {
        run.tab: run.to_dict()
        | {
            "figures": [figure._asdict() for figure in figures(run)],
            "lockstep": [each.to_dict() for each in mine.get(run.tab, ())],
        }
        for run in runs
    }
