"""Charts of a comparison: the losses over each other, their deviations, and the speed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lockstep.report.charts import (
    MUTED,
    Chart,
    Guide,
    Panel,
    Series,
    framework_colour,
    is_wide,
    smoothed,
    smoothing_window,
    thinned,
)

if TYPE_CHECKING:
    from lockstep.comparison.rows import Comparison, Row

LEAST = 1e-17  # where a deviation of nothing is drawn: below any that rounding makes
DASHES = ("solid", "solid", "dashed", "dotted", "dashdot", "dotted")


def comparison_chart(comparison: Comparison, title: str = "", *, wide: bool = False) -> Chart:
    """The three panels: side by side or, if `wide`, one below the other."""
    panels = (
        loss_panel(comparison, wide=wide),
        deviation_panel(comparison, wide=wide),
        time_panel(comparison, wide=wide),
    )
    return Chart(title, panels, note(comparison), columns=3)


def note(comparison: Comparison) -> str:
    """What the figure says of its runs: data, precision, seed and machine."""
    spec, facts = comparison.spec, comparison.machine
    machine = f"{facts.get('processor', 'an unknown processor')}, {facts.get('cores', '?')} cores"
    return f"data: {spec.data.kind} · {spec.precision} · seed {spec.seed} · {machine}"


def loss_panel(comparison: Comparison, *, wide: bool = False) -> Panel:
    """Loss of every step in every framework, over each other. Equal curves hide each other, so
    those drawn later are thinner and broken.

    Where the loss is noisy, running means are drawn, over every step of the first.
    """
    drawn, window = _drawn(comparison)
    widths = np.linspace(6.0, 1.3, max(2, len(drawn))).tolist()
    series: list[Series] = []
    if window > 1:
        first = drawn[0].curve.loss
        points = thinned(np.arange(len(first)), first)
        series.append(Series("", *points, colour=MUTED, alpha=0.35, width=0.8))
    means = [smoothed(row.curve.loss, window) for row in drawn]
    series += [
        Series(
            row.label,
            *thinned(*mean),
            colour=framework_colour(hue(row)),
            width=widths[index],
            dash=DASHES[min(index, len(DASHES) - 1)],
            alpha=0.45 if row.oracle else 1.0,
        )
        for index, (row, mean) in enumerate(zip(drawn, means, strict=True))
    ]
    y = f"loss, and its mean over {window} steps" if window > 1 else "loss"
    log = is_wide(*(values for _, values in means))
    return Panel("loss of every step", "step", y, tuple(series), y_log=log, wide=wide)


def deviation_panel(comparison: Comparison, *, wide: bool = False) -> Panel:
    """Relative deviation of each framework's loss from the oracle's: every step as a dot, the
    largest so far as a line; the tolerance; and the first step at which a framework differs."""
    lowest = highest = tolerance = comparison.tolerances["loss"]
    series: list[Series] = []
    guides = [Guide(tolerance, f"tolerance {tolerance:g}")]
    for row in (row for row in comparison.others if len(row.curve.deviation)):
        values = np.clip(np.nan_to_num(row.curve.deviation, posinf=1.0), LEAST, 1e6)
        lowest, highest = min(lowest, float(values.min())), max(highest, float(values.max()))
        steps, colour = np.arange(len(values)), framework_colour(hue(row))
        dots = {"colour": colour, "alpha": 0.5, "line": False, "marker": "circle"}
        so_far = thinned(steps, np.maximum.accumulate(values))
        series.append(Series(row.label, *thinned(steps, values), **dots))  # type: ignore[arg-type]
        series.append(Series(row.label, *so_far, colour=colour, width=1.6))
        first = row.first_difference
        if first is not None and first.step is not None and first.step < len(values):
            guides.append(Guide(first.step, f"{row.label}: step {first.step}", "x", colour))
    y = "relative deviation"
    return Panel(
        "deviation of the loss from the oracle",
        "step",
        f"{y} (0 drawn at {LEAST:g})" if lowest <= LEAST else y,
        tuple(series),
        guides=tuple(guides),
        y_log=True,
        y_range=(lowest / 4, highest * 20),
        wide=wide,
    )


def time_panel(comparison: Comparison, *, wide: bool = False) -> Panel:
    """The loss when each step was done, by the time spent in steps, on a logarithmic axis; smoothed
    where it is noisy."""
    drawn, window = _drawn(comparison)
    series: list[Series] = []
    means = [smoothed(row.curve.loss, window) for row in drawn]
    for row, (places, loss) in zip(drawn, means, strict=True):
        seconds, colour = np.maximum(row.curve.seconds, 1e-9)[places], framework_colour(hue(row))
        end = {"colour": colour, "line": False, "marker": "circle"}
        series.append(Series(row.label, seconds[-1:], loss[-1:], **end))  # type: ignore[arg-type]
        series.append(Series(row.label, *thinned(seconds, loss), colour=colour))
    title = "loss against time (compilation apart)"
    y = f"loss, mean of {window} steps" if window > 1 else "loss"
    looks = {"x_log": bool(drawn), "y_log": is_wide(*(loss for _, loss in means)), "wide": wide}
    return Panel(title, "seconds in steps", y, tuple(series), **looks)  # type: ignore[arg-type]


def hue(row: Row) -> str:
    """Whose colour a row has: the oracle's is its own."""
    return "oracle" if row.oracle else row.framework


def _drawn(comparison: Comparison) -> tuple[Sequence[Row], int]:
    """The rows that made a step, and over how many steps their losses are smoothed."""
    rows = [row for row in comparison.rows if len(row.curve.loss)]
    return rows, max((smoothing_window(row.curve.loss) for row in rows), default=1)
