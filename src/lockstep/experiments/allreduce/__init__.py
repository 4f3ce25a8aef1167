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
from typing import Any

from lockstep.experiments import Experiment
from lockstep.experiments.allreduce.algorithms import ALGORITHMS
from lockstep.experiments.allreduce.measuring import Measurement, Results, run
from lockstep.experiments.allreduce.question import Question
from lockstep.report.charts import INK, SERIES, Bar, Chart, Panel, Series
from lockstep.report.curves import machine_words
from lockstep.report.quantities import format_bandwidth, format_size, milliseconds
from lockstep.report.tables import TextTable
from lockstep.training.machine import machine_facts

COLUMNS = ("algorithm", "time", "middle half", "sent by one", "rounds", "predicted", "speed-up")
ENGINE = "#7f8791"  # what is not ours


def tables(results: Results) -> Iterator[TextTable | str]:
    """A table for each size and number of devices, and how to read them."""
    asked = results.question
    for size in asked.sizes:
        for devices in asked.devices:
            rows = [row for row in results.rows if (row.size, row.devices) == (size, devices)]
            title = f"{format_size(size)} over {devices} devices"
            yield TextTable(COLUMNS, [_cells(row, rows[0]) for row in rows], COLUMNS[:1], title)
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


def chart(results: Results) -> Chart:
    """A row of panels for each size, a column for each number of devices."""
    asked = results.question
    panels = tuple(
        times_panel([row for row in results.rows if (row.size, row.devices) == (size, devices)])
        for size in asked.sizes
        for devices in asked.devices
    )
    note = f"medians of {asked.repeats} · {machine_words(machine_facts())}"
    return Chart(_title(asked), panels, note, columns=len(asked.devices))


def times_panel(rows: Sequence[Measurement]) -> Panel:
    """Medians as bars, the middle half of the times as a line, predictions as diamonds."""
    title = f"{format_size(rows[0].size)} over {rows[0].devices} devices" if rows else ""
    bars = []
    for place, row in enumerate(rows):
        low, high = (1e3 * bound for bound in row.spread)
        bars.append(Bar(place, 1e3 * row.median, colour=_colour(row.algorithm), low=low, high=high))
    known = [(1e3 * r.predicted, i) for i, r in enumerate(rows) if r.predicted is not None]
    times, places = [time for time, _ in known], [float(place) for _, place in known]
    look = {"colour": INK, "line": False, "marker": "diamond"}
    predicted = (Series("predicted", times, places, **look),) if known else ()  # type: ignore[arg-type]
    names = tuple(_words(row.algorithm) for row in rows)
    return Panel(title, "milliseconds", "", predicted, tuple(bars), names)


def _title(asked: Question) -> str:
    link = f", links of {format_size(int(asked.bandwidth))}/s" if asked.bandwidth < math.inf else ""
    return f"allreduce, transport: {asked.transport}{link}"


def _colour(algorithm: str) -> str:
    names = list(ALGORITHMS)
    return SERIES[names.index(algorithm) % len(SERIES)] if algorithm in names else ENGINE


LOOK_AT = """
Compare gather broadcast, the loops that one writes first, with sharded and ring. All of them move
the same number of bytes in total. In gather broadcast and star, device 0 sends and receives
everything; in sharded, ring and halving doubling each device sends about 2 S (k-1)/k: look at the
column "sent by one".

With a small buffer the rounds decide (each costs the latency), with a large one the bytes do: an
algorithm that is the fastest for 1 MB need not be so for 64 MB.

The diamonds are predicted from four measured figures of the link. Where more devices than cores
share a machine they take turns, and a prediction may be far from what is measured.
"""

EXPERIMENT = Experiment(
    "allreduce",
    __doc__,
    Question,
    run,
    tables,
    to_dict,
    chart,
    look_at=LOOK_AT,
    to_change=(
        "lockstep experiment allreduce --transport shared",
        "lockstep experiment allreduce --bandwidth 10Gbit --size 64MB --devices 4",
        "lockstep experiment allreduce --size 4KB,1MB,16MB --algorithms ring,tree,sharded",
    ),
    # devices that are threads, and our own algorithms only: nothing to import or to start
    quick={
        "sizes": "1MB,16MB",
        "devices": "2,4",
        "repeats": 5,
        "transport": "local",
        "algorithms": ",".join(ALGORITHMS),
    },
    notes=Question.left_out,
    seconds=(76, 4),
)
