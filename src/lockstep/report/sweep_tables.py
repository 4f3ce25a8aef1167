"""A sweep in the terminal: a row for each setting, the best one, and how to repeat it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from rich.console import RenderableType
from rich.text import Text

from lockstep.report.quantities import duration, metric, metric_name
from lockstep.report.sweep_charts import value_text
from lockstep.report.tables import TextTable, filled, show

if TYPE_CHECKING:
    from lockstep.sweeps.trials import Sweep, Trial

MOST_ROWS = 40  # of a larger grid, the best are shown


def print_sweep(sweep: Sweep, file: TextIO | None = None) -> None:
    """The table of settings, the best one, and the command that repeats it."""
    show(sweep_parts(sweep), file)


def shown_rows(sweep: Sweep) -> list[Trial]:
    """All of few settings in the grid's order; of many, the best, the best one first."""
    rows = list(sweep.rows)
    if len(rows) > MOST_ROWS:
        sign = -1 if sweep.metric.endswith("accuracy") else 1
        rows.sort(key=lambda r: (math.isnan(sweep.value(r)), sign * sweep.value(r)))
    return rows[:MOST_ROWS]


def sweep_parts(sweep: Sweep) -> Iterator[RenderableType]:
    """What is said of a sweep, from its settings to where it is kept."""
    best, rows = sweep.best, shown_rows(sweep)
    if len(rows) < len(sweep.rows):
        yield Text(f"the best {MOST_ROWS} of {len(sweep.rows)} settings", "dim")
    plain = sweep_table(sweep, rows)
    marked = (
        [Text(c, _look(r, best)) for c in cells] for r, cells in zip(rows, plain.rows, strict=True)
    )
    yield filled(plain.columns, marked, left=plain.left)
    for row in sweep.rows:
        if row.problem:
            yield Text(f"{setting_text(row)} failed: {row.problem}", "yellow")
    for note in sweep.notes:
        yield Text(note, "dim")
    first, *more = sweep_summary(sweep)
    yield Text(first, "bold green" if best else "yellow")
    yield from more


def sweep_summary(sweep: Sweep) -> list[str]:
    """Which setting is the best, and how to repeat it."""
    best = sweep.best
    if best is None:
        return ["no setting came to its end: try smaller learning rates"]
    value = metric(sweep.metric, sweep.value(best))
    lines = [f"best: {setting_text(best)}: {metric_name(sweep.metric)} {value}"]
    if command := sweep.command(best):
        lines.append(f"repeat it with: {command}")
    return lines + ([f"sweep: {sweep.directory}"] if sweep.directory else [])


def _look(row: Trial, best: Trial | None) -> str:
    return "bold green" if row is best else "yellow" if row.status != "completed" else ""


def sweep_table(sweep: Sweep, rows: Sequence[Trial]) -> TextTable:
    """A row for each of these settings: how it ended, and the metric."""
    columns = (
        *sweep.grid.axes, "ended", metric_name(sweep.metric), "last batch's loss", "time in steps",
    )  # fmt: skip
    return TextTable(columns, [_cells(sweep, row) for row in rows], left=("ended",))


def _cells(sweep: Sweep, row: Trial) -> list[str]:
    value, last = sweep.value(row), row.metrics.get("loss", math.nan)
    return [
        *(value_text(v) for v in row.settings.values()),
        row.status,
        metric(sweep.metric, value) if math.isfinite(value) else "-",
        metric("loss", last) if math.isfinite(last) else "-",
        duration(row.seconds),
    ]


def setting_text(row: Trial) -> str:
    """The values of a setting, by name."""
    return ", ".join(f"{name} {value_text(value)}" for name, value in row.settings.items())
