"""Which allreduce is the fastest here, and does its time follow from bytes and rounds?

Times every algorithm in turns, checks its sum, counts the bytes that each device sends, and puts
beside it what the latency-bandwidth model predicts from probes of the same run.

- `question`, `measuring`: what can be asked, and how it is measured
- `algorithms`, `transfers`: an allreduce as a plan of transfers, pure and countable
- `local_plans`, `process_plans`, `shared_plans`: carry out a plan over buffers in one process,
  between processes, or through memory that they share
- `cost`: how long a plan should take, from what this machine was measured to do
- `timing`, `timing_worker`, `xla`: the clock, in threads and in processes
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.text import Text

from lockstep.experiments import Experiment
from lockstep.experiments.allreduce.algorithms import ALGORITHMS
from lockstep.experiments.allreduce.measuring import Measurement, Results, run
from lockstep.experiments.allreduce.question import Question
from lockstep.report.charts import INK, MUTED, SERIES
from lockstep.report.figures import FONT, legend, new_figure, style
from lockstep.report.quantities import format_bandwidth, format_size, milliseconds
from lockstep.report.tables import filled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.console import RenderableType

COLUMNS = ("algorithm", "time", "middle half", "sent by one", "rounds", "predicted", "speed-up")
ENGINE = "#7f8791"  # what is not ours


def tables(results: Results) -> Iterator[RenderableType]:
    """A table for each size and number of devices, and how to read them."""
    asked = results.question
    for size in asked.sizes:
        for devices in asked.devices:
            rows = [row for row in results.rows if (row.size, row.devices) == (size, devices)]
            yield Text(f"\n{format_size(size)} over {devices} devices", "bold")
            yield filled(COLUMNS, [_cells(row, rows[0]) for row in rows], left=COLUMNS[:1])
    yield f"\ntimes are medians of {asked.repeats}; speed-up: over {_words(asked.algorithms[0])}"
    for devices, link in results.links.items():
        alone, shared = format_bandwidth(link.bandwidth), format_bandwidth(link.shared)
        yield (
            f"{devices} devices: latency {link.latency * 1e6:.0f} us, {alone} for one, {shared} "
            f"for all together, adding {format_bandwidth(link.adding)}"
        )
    if asked.bandwidth < math.inf:
        yield f"each device behind a link of {format_bandwidth(asked.bandwidth)}, both ways"


def _cells(row: Measurement, first: Measurement) -> list[str]:
    low, high = row.spread
    return [
        _words(row.algorithm),
        milliseconds(row.median),
        f"{milliseconds(low)} to {milliseconds(high)}",
        "" if row.sent is None else format_size(row.sent),
        "" if row.rounds is None else str(row.rounds),
        "" if row.predicted is None else milliseconds(row.predicted),
        f"{first.median / row.median:.2f}" if row.median else "",
    ]


def _words(algorithm: str) -> str:
    return algorithm.replace("_", " ")


def to_dict(results: Results) -> dict[str, Any]:
    return {
        "bench": asdict(results.question),
        "rows": [
            {**asdict(row), "median": row.median, "low": row.spread[0], "high": row.spread[1]}
            for row in results.rows
        ],
        "links": {str(devices): asdict(link) for devices, link in results.links.items()},
    }


def figure(results: Results) -> Figure:
    """A row of axes for each size, a column for each number of devices."""
    asked = results.question
    rows, columns = len(asked.sizes), len(asked.devices)
    height = 1.2 + rows * (0.9 + 0.28 * len(asked.algorithms))
    made = new_figure(1.4 + 4.0 * columns, height, _title(asked))
    grid = made.subplots(rows, columns, squeeze=False)
    for i, size in enumerate(asked.sizes):
        for j, devices in enumerate(asked.devices):
            chosen = [row for row in results.rows if (row.size, row.devices) == (size, devices)]
            draw_times(grid[i][j], chosen)
            if j:
                grid[i][j].set_yticklabels([])
    return made


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
        points = zip(*predicted, strict=True)
        axes.plot(*points, "D", ms=5, color=INK, markerfacecolor="none", label="predicted")
        legend(axes, loc="lower right", bbox_to_anchor=(1.0, 1.0))  # beside the title
    axes.set_yticks(range(len(rows)), [_words(row.algorithm) for row in rows])
    axes.tick_params(axis="y", colors=MUTED, labelsize=FONT - 1)
    axes.invert_yaxis()
    axes.set_xlim(left=0)


def _title(asked: Question) -> str:
    link = f", links of {format_size(int(asked.bandwidth))}/s" if asked.bandwidth < math.inf else ""
    return f"allreduce, transport: {asked.transport}{link}"


def _colour(algorithm: str) -> str:
    names = list(ALGORITHMS)
    return SERIES[names.index(algorithm) % len(SERIES)] if algorithm in names else ENGINE


EXPERIMENT = Experiment(
    "allreduce", __doc__, Question, run, tables, to_dict, figure, notes=Question.left_out
)
