"""Schedules as a chart: the learning rate of every step, several over each other."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.report.charts import Chart, Panel, Series
from lockstep.schedules import Schedule, format_schedule

MAX_POINTS = 400  # of a curve: more than a terminal or a figure can show


def schedule_chart(schedule: Schedule, steps: int | None = None) -> Chart:
    """One schedule, under its name in text."""
    num_steps = natural_length([schedule]) if steps is None else steps
    panel = schedules_panel([schedule], num_steps, ["learning rate"])
    return Chart(format_schedule(schedule), (panel,))


def natural_length(schedules: Sequence[Schedule]) -> int:
    """Enough steps to see one after the last mark of every schedule."""
    return max(schedule.marks[-1] for schedule in schedules) + 2


def schedules_panel(schedules: Sequence[Schedule], num_steps: int, names: Sequence[str]) -> Panel:
    """Their rates over each other."""
    curves = [
        Series(name, *_curve(schedule, num_steps))
        for name, schedule in zip(names, schedules, strict=True)
    ]
    return Panel("", "step", "learning rate", tuple(curves), y_zero=True)


def _curve(schedule: Schedule, num_steps: int) -> tuple[list[int], list[float]]:
    """Steps and rates to draw: all of them, or an even choice that keeps every mark."""
    steps = set(spread(num_steps, MAX_POINTS))
    around = {mark + shift for mark in schedule.marks for shift in (-1, 0)}
    chosen = sorted(steps | {step for step in around if 0 <= step < num_steps})
    return chosen, [schedule(step) for step in chosen]


def spread(num_steps: int, count: int) -> list[int]:
    """At most `count` steps, evenly from the first to the last.

    >>> spread(3, 10), spread(100, 3)
    ([0, 1, 2], [0, 50, 99])
    """
    if num_steps <= count:
        return list(range(num_steps))
    return sorted({round(k * (num_steps - 1) / max(1, count - 1)) for k in range(count)})
