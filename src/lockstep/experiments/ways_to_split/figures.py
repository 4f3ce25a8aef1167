"""The figure of the three ways to split: time, bytes sent, bytes held, and the pipeline's hours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lockstep.experiments.ways_to_split.question import ONE
from lockstep.report.style import FONT, INK, MUTED, PAPER, SERIES, new_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lockstep.experiments.ways_to_split.results import DeviceFacts, Results, WayFacts, Work

COLOURS = {ONE: "#7f8791", "by data": SERIES[0], "within layers": SERIES[1], "by layers": SERIES[2]}
FORWARD, BACKWARD = SERIES[2], SERIES[4]
HEIGHT = 0.7  # of the bars of one way


def split_figure(results: Results) -> Figure:
    """Time and bytes of every way beside each other; below, a step of the pipeline."""
    asked = results.question
    ways, rows = results.ways, 2 if results.timeline else 1
    height = 1.5 + 0.2 * len(ways) * (1 + asked.devices) + (rows - 1) * (1.2 + 0.4 * asked.devices)
    figure = new_figure(11, height, results.title)
    top = 1.0 + 0.2 * len(ways) * (1 + asked.devices)
    grid = figure.add_gridspec(rows, 3, height_ratios=[top, 1.0 + 0.4 * asked.devices][:rows])
    time, sent, held = (figure.add_subplot(grid[0, column]) for column in range(3))
    draw_times(time, ways)
    draw_bytes(sent, ways, "sent by each device in a step", lambda device: device.sent)
    itemsize = 8 if asked.precision == "float64" else 4
    draw_bytes(
        held,
        ways,
        "weights and activations held",
        lambda device: device.activations + itemsize * device.parameters,
    )
    for axes in (sent, held):
        axes.set_yticklabels([])
    if results.timeline:
        draw_timeline(figure.add_subplot(grid[1, :]), results.timeline)
    return figure


def draw_times(axes: Axes, ways: Sequence[WayFacts]) -> None:
    """Medians as bars, the middle half of the times as a line."""
    style(axes, "time of a step", "milliseconds", "")
    for place, way in enumerate(ways):
        low, high = (1e3 * bound for bound in way.spread)
        axes.barh(place, 1e3 * way.median, height=HEIGHT, color=COLOURS[way.way])
        axes.plot([low, high], [place, place], color=INK, linewidth=1.4)
    _finish(axes, ways)


def draw_bytes(
    axes: Axes, ways: Sequence[WayFacts], title: str, count: Callable[[DeviceFacts], int]
) -> None:
    """A bar for each device, in MB."""
    style(axes, title, "MB", "")
    for place, way in enumerate(ways):
        each = HEIGHT / len(way.devices)
        for rank, device in enumerate(way.devices):
            at = place - HEIGHT / 2 + (rank + 0.5) * each
            axes.barh(at, count(device) / 1e6, height=0.86 * each, color=COLOURS[way.way])
    _finish(axes, ways)


def draw_timeline(axes: Axes, timeline: Sequence[Work]) -> None:
    """When each device worked on which micro-batch; what is left white is the bubble."""
    style(axes, "by layers: one step of the pipeline", "milliseconds since the step began", "")
    axes.grid(False, axis="y")
    for work in timeline:
        colour = FORWARD if work.direction == "forward" else BACKWARD
        begin, width = 1e3 * work.begin, 1e3 * (work.end - work.begin)
        axes.barh(work.rank, width, left=begin, height=HEIGHT, color=colour, edgecolor=PAPER)
        label = f"{work.direction[0].upper()}{work.micro_batch}"
        axes.text(
            begin + width / 2, work.rank, label, ha="center", va="center", color=PAPER,
            fontsize=FONT - 2, clip_on=True,
        )  # fmt: skip
    ranks = sorted({work.rank for work in timeline})
    axes.set_yticks(ranks, [f"device {rank}" for rank in ranks])
    axes.tick_params(axis="y", colors=MUTED, labelsize=FONT - 1)
    axes.invert_yaxis()
    axes.set_xlim(left=0)


def _finish(axes: Axes, ways: Sequence[WayFacts]) -> None:
    axes.grid(False, axis="y")
    axes.set_yticks(range(len(ways)), [way.way for way in ways])
    axes.tick_params(axis="y", colors=MUTED, labelsize=FONT - 1)
    axes.set_ylim(len(ways) - 0.5, -0.5)
    axes.set_xlim(left=0)
