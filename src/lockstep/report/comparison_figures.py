"""Figures of a comparison: the losses over each other, their deviations, and the speed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from lockstep.report import figures
from lockstep.report.charts import MUTED, smoothed, smoothing_window, thinned
from lockstep.report.charts import framework_colour as colour
from lockstep.report.figures import FONT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lockstep.comparison.rows import Comparison, Row

LEAST = 1e-17  # where a deviation of nothing is drawn: below any that rounding makes


def compare_figure(comparison: Comparison) -> Figure:
    """The three figures side by side."""
    figure = figures.new_figure(15, 4.4, comparison.spec.name)
    draws = (draw_losses, draw_deviations, draw_times)
    for axes, draw in zip(figure.subplots(1, 3), draws, strict=True):
        draw(axes, comparison)
    return figure


def one_figure(draw: Callable[[Axes, Comparison], None], comparison: Comparison) -> Figure:
    """One of the three alone."""
    figure = figures.new_figure(8, 3.8)
    draw(figure.subplots(), comparison)
    return figure


def draw_losses(axes: Axes, comparison: Comparison) -> None:
    """Loss of every step in every framework, over each other. Equal curves hide each other, so
    those drawn later are thinner and broken.

    Where the loss is noisy, running means are drawn, over every step of the first.
    """
    figures.style(axes, "loss of every step", "step", "loss")
    drawn, window = _drawn(comparison)
    widths = np.linspace(6.0, 1.3, max(2, len(drawn)))
    dashes: list = ["-", "-", (0, (5, 3)), (0, (2, 2)), (2, (6, 2, 1, 2)), (0, (1, 2))]
    if window > 1:
        first = drawn[0].curve.loss
        axes.plot(*thinned(np.arange(len(first)), first), color=MUTED, alpha=0.35, linewidth=0.8)
        axes.set_ylabel(f"loss, and its mean over {window} steps")
    for index, row in enumerate(drawn):
        axes.plot(
            *thinned(*smoothed(row.curve.loss, window)),
            color=colour(hue(row)),
            linewidth=widths[index],
            linestyle=dashes[min(index, len(dashes) - 1)],
            alpha=0.45 if row.oracle else 1.0,
            solid_capstyle="round",
            label=row.label,
        )
    if drawn:
        figures.log_if_wide(
            axes, np.concatenate([smoothed(row.curve.loss, window)[1] for row in drawn])
        )
        figures.legend(axes)


def draw_deviations(axes: Axes, comparison: Comparison) -> None:
    """Relative deviation of each framework's loss from the oracle's: every step as a dot, the
    largest so far as a line; and the tolerance."""
    figures.style(axes, "deviation of the loss from the oracle", "step", "relative deviation")
    axes.set_yscale("log")
    lowest = highest = tolerance = comparison.tolerances["loss"]
    for row in comparison.others:
        if not len(row.curve.deviation):
            continue
        values = np.clip(np.nan_to_num(row.curve.deviation, posinf=1.0), LEAST, 1e6)
        lowest, highest = min(lowest, values.min()), max(highest, values.max())
        steps, tint = np.arange(len(values)), colour(hue(row))
        axes.plot(*thinned(steps, values), ".", color=tint, markersize=3, alpha=0.5)
        so_far = np.maximum.accumulate(values)
        axes.plot(*thinned(steps, so_far), color=tint, linewidth=1.6, label=row.label)
        first = row.first_difference
        if first is not None and first.step is not None and first.step < len(values):
            axes.axvline(first.step, color=tint, linewidth=1, linestyle=":")
    axes.set_ylim(lowest / 4, highest * 20)
    axes.axhline(tolerance, color=MUTED, linewidth=1.4, linestyle=(0, (4, 3)))
    axes.annotate(
        f"tolerance {tolerance:g}",
        (1, tolerance),
        xycoords=("axes fraction", "data"),
        xytext=(0, 4),
        textcoords="offset points",
        ha="right",
        fontsize=FONT - 1,
        color=MUTED,
    )
    if lowest <= LEAST:
        axes.set_ylabel(f"relative deviation (0 drawn at {LEAST:g})")
    if axes.get_legend_handles_labels()[0]:
        figures.legend(axes)


def draw_times(axes: Axes, comparison: Comparison) -> None:
    """The loss when each step was done, by the time spent in steps, on a logarithmic axis; smoothed
    where it is noisy."""
    figures.style(axes, "loss against time (compilation apart)", "seconds in steps", "loss")
    drawn, window = _drawn(comparison)
    for row in drawn:
        places, loss = smoothed(row.curve.loss, window)
        seconds = np.maximum(row.curve.seconds, 1e-9)[places]
        axes.plot(*thinned(seconds, loss), color=colour(hue(row)), lw=1.8, label=row.label)
        axes.plot(*thinned(seconds[-1:], loss[-1:]), "o", color=colour(hue(row)), markersize=5)
    if drawn:
        axes.set_xscale("log")
        figures.log_if_wide(
            axes, np.concatenate([smoothed(row.curve.loss, window)[1] for row in drawn])
        )
        figures.legend(axes)
    if window > 1:
        axes.set_ylabel(f"loss, mean of {window} steps")


def hue(row: Row) -> str:
    """Whose colour a row has: the oracle's is its own."""
    return "oracle" if row.oracle else row.framework


def _drawn(comparison: Comparison) -> tuple[Sequence[Row], int]:
    """The rows that made a step, and over how many steps their losses are smoothed."""
    rows = [row for row in comparison.rows if len(row.curve.loss)]
    return rows, max((smoothing_window(row.curve.loss) for row in rows), default=1)
