"""The figure of a scaling forecast: efficiency against the number of devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lockstep.experiments.allreduce.algorithms import ALGORITHMS
from lockstep.experiments.scaling.overlap import AFTER, DURING
from lockstep.report.style import FONT, INK, SERIES, new_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lockstep.experiments.scaling.forecast import Check
    from lockstep.experiments.scaling.model import Row

MARKERS = "osDv^P"


def scaling_figure(rows: Sequence[Row], checks: Sequence[Check], title: str) -> Figure:
    """Axes for weak and for strong scaling, as far as there are rows."""
    scalings = list(dict.fromkeys(row.scaling for row in rows))
    figure = new_figure(max(8.0, 0.6 + 4.9 * len(scalings)), 4.4, title)  # room for the title
    grid = figure.subplots(1, len(scalings), squeeze=False)
    for axes, scaling in zip(grid[0], scalings, strict=True):
        here = [check for check in checks if check.scaling == scaling]
        draw_efficiency(axes, [row for row in rows if row.scaling == scaling], here)
    found = [axes.get_legend_handles_labels() for axes in grid[0]]
    named = {name: line for lines, names in found for line, name in zip(lines, names, strict=True)}
    options = {"frameon": False, "fontsize": FONT - 1, "labelcolor": INK}
    figure.legend(list(named.values()), list(named), loc="outside lower center", ncols=4, **options)
    return figure


def draw_efficiency(axes: Axes, rows: Sequence[Row], checks: Sequence[Check]) -> None:
    """In buckets: a line for each algorithm with overlap, a dotted one without; what was measured
    here as crosses."""
    scaling = rows[0].scaling
    batch = "the same batch on each device" if scaling == "weak" else "the same batch in all"
    style(axes, f"{scaling} scaling: {batch}", "devices", "efficiency (%)")
    names = list(dict.fromkeys(row.algorithm for row in rows))
    for name in names:
        chosen = [row for row in rows if row.algorithm == name]
        counts = [row.devices for row in chosen]
        place = list(ALGORITHMS).index(name)
        line = {"color": SERIES[place % len(SERIES)]}
        marks = {
            "marker": MARKERS[place % len(MARKERS)],
            "markersize": 6,
            "markerfacecolor": "none",
        }
        during = [100 * row.efficiency(DURING) for row in chosen]
        after = [100 * row.efficiency(AFTER) for row in chosen]
        axes.plot(counts, during, label=name.replace("_", " "), **line, **marks)  # type: ignore[arg-type]
        axes.plot(counts, after, linestyle=":", linewidth=1.2, **line)  # type: ignore[arg-type]
    axes.plot([], [], color=INK, linestyle=":", linewidth=1.2, label="without overlap")
    if checks:
        points = [(check.devices, 100 * check.efficiency) for check in checks]
        cross = {"marker": "x", "markersize": 8, "color": INK, "linestyle": "none"}
        axes.plot(*zip(*points, strict=True), label="measured here", **cross)  # type: ignore[arg-type]
    counts = list(dict.fromkeys(row.devices for row in rows))
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, [f"{count:,}" for count in counts])
    axes.minorticks_off()
    axes.margins(x=0.03)  # room for the marks at both ends
    axes.set_ylim(bottom=0)
