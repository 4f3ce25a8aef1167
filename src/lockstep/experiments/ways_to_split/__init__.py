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
from typing import Any

from lockstep.experiments import Experiment
from lockstep.experiments.ways_to_split.findings import DeviceFacts, Results, WayFacts, Work
from lockstep.experiments.ways_to_split.measuring import run
from lockstep.experiments.ways_to_split.question import LAYERS, ONE, Question, num_updates
from lockstep.report.charts import SERIES, Bar, Chart, Panel
from lockstep.report.curves import machine_words
from lockstep.report.quantities import deviation, format_size, milliseconds
from lockstep.report.tables import TextTable
from lockstep.training.machine import machine_facts

COLUMNS = (
    "way", "time", "middle half", "speed-up", "sent by all", "messages", "idle", "gradient off",
)  # fmt: skip
DEVICES = ("way", "device", "has", "parameters", "activations", "sends", "messages")
COLOURS = {ONE: "#7f8791", "by data": SERIES[0], "within layers": SERIES[1], "by layers": SERIES[2]}
FORWARD, BACKWARD = SERIES[2], SERIES[4]
HEIGHT = 0.7  # of the bars of one way


def tables(results: Results) -> Iterator[TextTable | str]:
    """A row for each way, one for each of its devices, and how to read them."""
    yield results.title
    one = results[ONE]
    yield TextTable(COLUMNS, [_cells(way, one) for way in results.ways], left=COLUMNS[:1])
    rows = [row for way in results.ways for row in _device_rows(way)]
    left = (DEVICES[0], DEVICES[2])
    yield TextTable(DEVICES, rows, left, "what each device has, and sends in a step")
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


def chart(results: Results) -> Chart:
    """Time and bytes of every way beside each other; below, a step of the pipeline."""
    ways, itemsize = results.ways, 8 if results.question.precision == "float64" else 4

    def held(device: DeviceFacts) -> int:
        return device.activations + itemsize * device.parameters

    panels = [
        times_panel(ways),
        bytes_panel(ways, "sent by each device in a step", lambda device: device.sent),
        bytes_panel(ways, "weights and activations held", held),
    ]
    if results.timeline:
        panels.append(timeline_panel(results.timeline))
    where = f"torch, a process of one thread for each device · seed {results.question.seed}"
    note = f"data: {results.origin.name} · {where} · {machine_words(machine_facts())}"
    return Chart(results.title, tuple(panels), note, columns=3)


def times_panel(ways: Sequence[WayFacts]) -> Panel:
    """Medians as bars, the middle half of the times as a line."""
    bars = []
    for place, way in enumerate(ways):
        low, high = (1e3 * bound for bound in way.spread)
        look = {"height": HEIGHT, "colour": COLOURS[way.way]}
        bars.append(Bar(place, 1e3 * way.median, low=low, high=high, **look))  # type: ignore[arg-type]
    return _panel("time of a step", "milliseconds", ways, bars)


def bytes_panel(ways: Sequence[WayFacts], title: str, count: Callable[[DeviceFacts], int]) -> Panel:
    """A bar for each device, in MB."""
    bars = []
    for place, way in enumerate(ways):
        each = HEIGHT / len(way.devices)
        for rank, device in enumerate(way.devices):
            at = place - HEIGHT / 2 + (rank + 0.5) * each
            look = {"height": 0.86 * each, "colour": COLOURS[way.way]}
            bars.append(Bar(at, count(device) / 1e6, **look))  # type: ignore[arg-type]
    return _panel(title, "MB", ways, bars)


def _panel(title: str, unit: str, ways: Sequence[WayFacts], bars: Sequence[Bar]) -> Panel:
    return Panel(title, unit, "", bars=tuple(bars), rows=tuple(way.way for way in ways))


def timeline_panel(timeline: Sequence[Work]) -> Panel:
    """When each device worked on which micro-batch; white is the time in which it was idle."""
    bars = tuple(
        Bar(
            work.rank,
            end=1e3 * work.end,
            begin=1e3 * work.begin,
            height=HEIGHT,
            colour=FORWARD if work.direction == "forward" else BACKWARD,
            text=f"{work.direction[0].upper()}{work.micro_batch}",
        )
        for work in timeline
    )
    rows = tuple(f"device {rank}" for rank in sorted({work.rank for work in timeline}))
    title = "by layers: one step of the pipeline (F forward, B backward)"
    unit = "milliseconds since the step began"
    return Panel(title, unit, "", bars=bars, rows=rows, wide=True)


LOOK_AT = """
Column "gradient off": all three ways compute the gradient of one device, up to rounding. They
differ in what they move and in how long devices wait.

By data, a device sends its gradient, whatever the batch; within the layers and by layers it sends
activations, which grow with the batch. Try --batch-size 64 and 1024 and compare the bytes.

Within the layers messages are many, and each must be waited for; the column "idle" shows it. By
layers, the white gaps in the timeline are the pipeline filling and emptying; more micro-batches
make them smaller, up to the point where the stages themselves are uneven.
"""

EXPERIMENT = Experiment(
    "ways-to-split",
    __doc__,
    Question,
    run,
    tables,
    to_dict,
    chart,
    look_at=LOOK_AT,
    to_change=(
        "lockstep experiment ways-to-split --batch-size 1024",
        "lockstep experiment ways-to-split --micro-batches 16 --ways layers",
        "lockstep experiment ways-to-split --pooling avg --precision float64",
    ),
    quick={"steps": 4, "batch_size": 64},
    seconds=(7, 4),
)
