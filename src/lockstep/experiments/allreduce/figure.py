"""Figures of an allreduce benchmark: time of every algorithm, measured and predicted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lockstep.experiments.allreduce.algorithms import ALGORITHMS
from lockstep.report.quantities import format_size
from lockstep.report.style import FONT, INK, MUTED, SERIES, legend, new_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lockstep.experiments.allreduce.measurements import Bench, Measurement, Results

ENGINE = "#7f8791"  # what is not ours


def allreduce_figure(results: Results) -> Figure:
    """A row of axes for each size, a column for each number of devices."""
    bench = results.bench
    rows, columns = len(bench.sizes), len(bench.devices)
    height = 1.2 + rows * (0.9 + 0.28 * len(bench.algorithms))
    figure = new_figure(1.4 + 4.0 * columns, height, _title(bench))
    grid = figure.subplots(rows, columns, squeeze=False)
    for i, size in enumerate(bench.sizes):
        for j, devices in enumerate(bench.devices):
            chosen = [row for row in results.rows if (row.size, row.devices) == (size, devices)]
            draw_times(grid[i][j], chosen)
            if j:
                grid[i][j].set_yticklabels([])
    return figure


def draw_times(axes: Axes, rows: Sequence[Measurement]) -> None:
    """Medians as bars, the middle half of the times as a line, predictions as diamonds."""
    title = f"{format_size(rows[0].size)} over {rows[0].devices} devices" if rows else ""
    style(axes, title, "milliseconds", "")
    axes.grid(False, axis="y")
    for place, row in enumerate(rows):
        low, high = (1e3 * bound for bound in row.spread)
        axes.barh(place, 1e3 * row.median, height=0.62, color=_colour(row.algorithm))
        axes.plot([low, high], [place, place], color=INK, linewidth=1.4)
    predicted = [(1e3 * r.predicted, i) for i, r in enumerate(rows) if r.predicted is not None]
    if predicted:
        marks = {"marker": "D", "markersize": 5, "color": INK, "markerfacecolor": "none"}
        axes.plot(*zip(*predicted, strict=True), linestyle="none", label="predicted", **marks)  # type: ignore[arg-type]
        legend(axes, loc="lower right", bbox_to_anchor=(1.0, 1.0))  # beside the title
    axes.set_yticks(range(len(rows)), [row.algorithm.replace("_", " ") for row in rows])
    axes.tick_params(axis="y", colors=MUTED, labelsize=FONT - 1)
    axes.invert_yaxis()
    axes.set_xlim(left=0)


def _title(bench: Bench) -> str:
    link = f", links of {format_size(int(bench.bandwidth))}/s" if bench.bandwidth < math.inf else ""
    return f"allreduce, transport: {bench.transport}{link}"


def _colour(algorithm: str) -> str:
    names = list(ALGORITHMS)
    return SERIES[names.index(algorithm) % len(SERIES)] if algorithm in names else ENGINE
