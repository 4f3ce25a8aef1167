"""Is a batch best split over devices by data, within the layers or by layers, and why?

Trains LeNet on devices that are processes of one thread, in three ways in turns. All of them have
the gradients of one device; the experiment compares these, and counts the bytes that each sends.

- by data: every device has all weights and a part of the batch; gradients are summed
- within the layers: every device has a part of each layer; activations travel
- by layers: every device has some of the layers; micro-batches follow each other through them

`question` has the options, `division` and `holdings` say what each device has, `ways/` does it in
one process per device, `measuring` starts them, `findings` is what was found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.text import Text

from lockstep.experiments import Experiment
from lockstep.experiments.ways_to_split.findings import DeviceFacts, Results, WayFacts, Work
from lockstep.experiments.ways_to_split.measuring import run
from lockstep.experiments.ways_to_split.question import LAYERS, ONE, Question, num_updates
from lockstep.report.charts import INK, MUTED, SERIES
from lockstep.report.figures import FONT, PAPER, new_figure, style
from lockstep.report.quantities import deviation, format_size, milliseconds
from lockstep.report.tables import filled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.console import RenderableType

COLUMNS = (
    "way", "time", "middle half", "speed-up", "sent by all", "messages", "idle", "gradient off",
)  # fmt: skip
DEVICES = ("way", "device", "has", "parameters", "activations", "sends", "messages")
COLOURS = {ONE: "#7f8791", "by data": SERIES[0], "within layers": SERIES[1], "by layers": SERIES[2]}
FORWARD, BACKWARD = SERIES[2], SERIES[4]
HEIGHT = 0.7  # of the bars of one way


def tables(results: Results) -> Iterator[RenderableType]:
    """A row for each way, one for each of its devices, and how to read them."""
    yield Text(results.title, "bold")
    one = results[ONE]
    yield filled(COLUMNS, [_cells(way, one) for way in results.ways], left=COLUMNS[:1])
    yield ""
    rows = [row for way in results.ways for row in _device_rows(way)]
    yield filled(DEVICES, rows, left=(DEVICES[0], DEVICES[2]))
    asked = results.question
    yield (
        f"times are medians of {asked.steps} steps, of the slowest device; bytes and messages are "
        "counted as they are sent, in one step; idle: the share of the time in which devices wait"
    )
    largest = max(way.path_deviation for way in results.ways)
    yield (
        f"after {num_updates(asked.steps)} updates all weights are within {deviation(largest)} of "
        f"one device's; loss {one.losses[0]:.4f} to {one.losses[-1]:.4f}"
    )
    if results.bubble is not None and results.bubble_of_stages is not None:
        yield (
            f"pipeline devices spend time idle: {results.bubble:.0%} of the time by (k-1)/(m+k-1), "
            f"{results.bubble_of_stages:.0%} with stages as uneven as these, "
            f"{results[LAYERS].idle:.0%} measured"
        )


def _cells(way: WayFacts, one: WayFacts) -> list[str]:
    low, high = way.spread
    return [
        way.way,
        milliseconds(way.median),
        f"{milliseconds(low)} to {milliseconds(high)}",
        f"{one.median / way.median:.2f}",
        format_size(sum(device.sent for device in way.devices)),
        str(sum(device.messages for device in way.devices)),
        f"{way.idle:.0%}",
        "" if way is one else deviation(way.deviation),
    ]


def _device_rows(way: WayFacts) -> Iterator[list[str]]:
    for rank, device in enumerate(way.devices):
        yield [
            "" if rank else way.way,
            str(rank),
            device.holds,
            f"{device.parameters:,}",
            format_size(device.activations),
            format_size(device.sent),
            str(device.messages),
        ]


def to_dict(results: Results) -> dict[str, Any]:
    ways = []
    for way in results.ways:
        low, high = way.spread
        found = {"median": way.median, "low": low, "high": high, "idle": way.idle}
        ways.append({**asdict(way), **found})
        del ways[-1]["gradient"]  # 61,706 numbers
    return {
        "question": asdict(results.question),
        "data": asdict(results.origin),
        "ways": ways,
        "pipeline": {
            "bubble": results.bubble,
            "bubble_of_stages": results.bubble_of_stages,
            "timeline": [asdict(work) for work in results.timeline],
        },
    }


def figure(results: Results) -> Figure:
    """Time and bytes of every way beside each other; below, a step of the pipeline."""
    asked = results.question
    ways, rows = results.ways, 2 if results.timeline else 1
    top, below = 1.0 + 0.2 * len(ways) * (1 + asked.devices), 1.0 + 0.4 * asked.devices
    made = new_figure(11, 0.5 + top + (rows - 1) * (0.2 + below), results.title)
    grid = made.add_gridspec(rows, 3, height_ratios=[top, below][:rows])
    time, sent, held = (made.add_subplot(grid[0, column]) for column in range(3))
    draw_times(time, ways)
    draw_bytes(sent, ways, "sent by each device in a step", lambda device: device.sent)
    itemsize = 8 if asked.precision == "float64" else 4

    def held_by(device: DeviceFacts) -> int:
        return device.activations + itemsize * device.parameters

    draw_bytes(held, ways, "weights and activations held", held_by)
    for axes in (sent, held):
        axes.set_yticklabels([])
    if results.timeline:
        draw_timeline(made.add_subplot(grid[1, :]), results.timeline)
    return made


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
    """When each device worked on which micro-batch; white is the time in which it was idle."""
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


EXPERIMENT = Experiment("ways-to-split", __doc__, Question, run, tables, to_dict, figure)
