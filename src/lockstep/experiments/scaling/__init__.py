"""How much faster would training be on many devices, by a model checked on this machine?

Measures a step on one device, at every batch size that a device would have, and forecasts the step
on many from the gradient's size and the network. RECIPE may also be inception-v3, resnet-101 or
vgg-16, with published times of one GPU. `lockstep scale horovod` compares the model with Horovod's
published figures.

- `question`, `forecast`, `measuring`: what can be asked, what is answered, which runs are timed
- `model`, `overlap`, `loads`: a step on k devices, from one device's step and the network
- `backward`: when in the backward pass each gradient is complete
- `architectures`: models with published times
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

from lockstep.experiments import Experiment
from lockstep.experiments.allreduce.algorithms import ALGORITHMS
from lockstep.experiments.scaling.architectures import LAYERS
from lockstep.experiments.scaling.forecast import Forecast, run
from lockstep.experiments.scaling.measuring import Check
from lockstep.experiments.scaling.overlap import AFTER, DURING, WAYS, fill_buckets
from lockstep.experiments.scaling.question import Question
from lockstep.experiments.scaling.step_time import Network, Row, fastest
from lockstep.report.charts import INK, MARKERS, SERIES, Chart, Panel, Series
from lockstep.report.curves import machine_words
from lockstep.report.quantities import format_bandwidth, format_size, milliseconds, percent
from lockstep.report.tables import TextTable
from lockstep.training.machine import machine_facts

COLUMNS = ("devices", "algorithm", "batch each", "compute", "exchange", "speed-up")


def tables(forecast: Forecast) -> Iterator[TextTable | str]:
    """What was measured, a table for each scaling, and how to read them."""
    profile = forecast.profile
    size = profile.batch_size
    yield f"{profile.name}, {forecast.source}"
    yield (
        f"gradient {format_size(profile.size)} in {len(profile.pieces)} arrays; one device: "
        f"{milliseconds(profile.seconds[size])} for a step of {size}, "
        f"{percent(profile.backward)} of it in the backward pass"
    )
    for scaling in dict.fromkeys(row.scaling for row in forecast.rows):
        batch = (
            f"{size} examples on each device" if scaling == "weak" else f"{size} examples in all"
        )
        rows = [row for row in forecast.rows if row.scaling == scaling]
        yield forecast_table(rows, f"{scaling} scaling: {batch}")
    yield from _facts(forecast)
    if forecast.checks:
        yield check_table(forecast.checks)
        for devices, network in forecast.here.items():
            yield f"with the link measured here, {devices} devices: {_link(network)}"
    yield from forecast.notes


def _facts(forecast: Forecast) -> Iterator[str]:
    for scaling, rows in groupby(forecast.rows, key=lambda row: row.scaling):
        row = fastest(list(rows))
        name = row.algorithm.replace("_", " ") if row.devices > 1 else "no exchange"
        speed = f"{row.speed_up(DURING):.3g} times one device"
        devices = "1 device" if row.devices == 1 else f"{row.devices} devices"
        yield f"{scaling}, fastest: {devices}, {name}, {speed}"
    profile, network = forecast.profile, forecast.network
    if len(fill_buckets(profile.pieces, network.bucket // profile.itemsize)) == 1:
        yield "the whole gradient is one bucket, so nothing overlaps: try a smaller --bucket"
    yield f"forecast for the network given: {_link(forecast.network)}"
    yield (
        f"exchanged array by array or in buckets of up to {format_size(forecast.network.bucket)}, "
        "after the backward pass or during it; exchange and speed-up are those of buckets, during"
    )


def _link(network: Network) -> str:
    link, hosts = network.link, network.hosts
    text = f"{format_bandwidth(link.bandwidth)}, latency {1e6 * link.latency:.3g} us"
    if link.adding < math.inf:
        text += f", adding {format_bandwidth(link.adding)}"
    if link.shared < math.inf:
        text += f", {format_bandwidth(link.shared)} for all together"
    if hosts.per_host > 1:
        text += f"; {hosts.per_host} devices share it, {format_bandwidth(hosts.inner)} between them"
    return text


def forecast_table(rows: Sequence[Row], title: str = "") -> TextTable:
    """A row for each number of devices and algorithm; the last columns are efficiencies."""
    cells = []
    for devices, group in groupby(rows, key=lambda row: row.devices):
        chosen = list(group)[: 1 if devices == 1 else None]  # alone there is nothing to exchange
        for place, row in enumerate(chosen):
            cells.append(
                [
                    f"{devices:,}" if place == 0 else "",
                    "" if devices == 1 else row.algorithm.replace("_", " "),
                    f"{row.batch_size:,}",
                    milliseconds(row.compute),
                    milliseconds(row.exchange) if devices > 1 else "",
                    f"{row.speed_up(DURING):.3g}",
                    *(percent(row.efficiency(way)) for way in WAYS),
                ]
            )
    return TextTable((*COLUMNS, *(way.name for way in WAYS)), cells, ("algorithm",), title)


def check_table(checks: Sequence[Check]) -> TextTable:
    """Steps on devices of this machine, measured and predicted."""
    columns = (
        "scaling", "devices", "batch in all", "compute", "measured", "efficiency",
        "predicted, after", "predicted, during",
    )  # fmt: skip
    rows = [
        (
            check.scaling,
            str(check.devices),
            str(check.batch_size),
            milliseconds(check.compute),
            milliseconds(check.measured),
            percent(check.efficiency),
            milliseconds(check.predicted[AFTER]),
            milliseconds(check.predicted[DURING]),
        )
        for check in checks
    ]
    return TextTable(columns, rows, ("scaling",), "checked on this machine")


def chart(forecast: Forecast) -> Chart:
    """Panels for weak and for strong scaling, as far as there are rows."""
    rows, checks = forecast.rows, forecast.checks
    panels = tuple(
        efficiency_panel(
            [row for row in rows if row.scaling == scaling],
            [check for check in checks if check.scaling == scaling],
        )
        for scaling in dict.fromkeys(row.scaling for row in rows)
    )
    note = f"forecast for {_link(forecast.network)} · {machine_words(machine_facts())}"
    return Chart(f"{forecast.profile.name}, {forecast.source}", panels, note)


def efficiency_panel(rows: Sequence[Row], checks: Sequence[Check]) -> Panel:
    """In buckets: a line for each algorithm with overlap, a dotted one without; what was measured
    here as crosses."""
    scaling = rows[0].scaling
    batch = "the same batch on each device" if scaling == "weak" else "the same batch in all"
    series = []
    for name in dict.fromkeys(row.algorithm for row in rows):
        chosen = [row for row in rows if row.algorithm == name]
        counts = [row.devices for row in chosen]
        place = list(ALGORITHMS).index(name)
        hue, marker = SERIES[place % len(SERIES)], MARKERS[place % len(MARKERS)]
        during, after = ([100 * row.efficiency(way) for row in chosen] for way in (DURING, AFTER))
        label = name.replace("_", " ")
        series.append(Series(label, counts, during, hue, marker=marker))
        series.append(Series("", counts, after, hue, dash="dotted", width=1.2))
    series.append(Series("without overlap", [], [], INK, dash="dotted", width=1.2))  # the legend's
    if checks:
        measured = [100 * check.efficiency for check in checks]
        counts = [check.devices for check in checks]
        series.append(Series("measured here", counts, measured, INK, line=False, marker="cross"))
    ticks = {float(row.devices): f"{row.devices:,}" for row in rows}
    title = f"{scaling} scaling: {batch}"
    return Panel(
        title, "devices", "efficiency (%)", tuple(series), x_log=True, x_ticks=ticks, y_zero=True
    )


LOOK_AT = """
100 % would be k times the speed of one device. In weak scaling each device keeps its batch, so only
the exchange is added; in strong scaling the batch is divided, and each device soon has so little to
compute that the exchange, and the fixed cost of a step, are most of its time.

Full lines: exchange overlaps the backward pass; dotted: it waits for its end. A small model has one
bucket, which is complete only at the end, so for it both are the same.

The forecast is for the network given with --bandwidth and --latency. The crosses were measured on
this machine and have its own link; the table "checked on this machine" holds them against what the
model says for that link.
"""

EXPERIMENT = Experiment(
    "scaling",
    __doc__,
    Question,
    run,
    tables,
    Forecast.to_dict,
    chart,
    look_at=LOOK_AT,
    to_change=(
        "lockstep experiment scaling --bandwidth 1Gbit --latency 50us",
        "lockstep experiment scaling timemachine-gru --algorithms ring,star",
        "lockstep experiment scaling vgg-16 --per-host 4 --bucket 64MiB",
    ),
    quick={"seconds": 0.1, "devices": "1,2,8", "no_check": True},
    recipe="fashion-lenet",
    besides=tuple(LAYERS),
    seconds=(47, 13),
)
