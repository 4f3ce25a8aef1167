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
from typing import TYPE_CHECKING

from rich.text import Text

from lockstep.experiments import Experiment
from lockstep.experiments.allreduce.algorithms import ALGORITHMS
from lockstep.experiments.scaling.architectures import LAYERS
from lockstep.experiments.scaling.forecast import Forecast, run
from lockstep.experiments.scaling.measuring import Check
from lockstep.experiments.scaling.overlap import AFTER, DURING, WAYS, fill_buckets
from lockstep.experiments.scaling.question import Question
from lockstep.experiments.scaling.step_time import Network, Row, fastest
from lockstep.report.charts import INK, SERIES
from lockstep.report.figures import FONT, new_figure, style
from lockstep.report.quantities import format_bandwidth, format_size, milliseconds, percent
from lockstep.report.tables import filled, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.console import RenderableType
    from rich.table import Table

COLUMNS = ("devices", "algorithm", "batch each", "compute", "exchange", "speed-up")
MARKERS = "osDv^P"


def tables(forecast: Forecast) -> Iterator[RenderableType]:
    """What was measured, a table for each scaling, and how to read them."""
    profile = forecast.profile
    size = profile.batch_size
    yield Text(f"{profile.name}, {forecast.source}", "bold")
    yield (
        f"gradient {format_size(profile.size)} in {len(profile.pieces)} arrays; one device: "
        f"{milliseconds(profile.seconds[size])} for a step of {size}, "
        f"{percent(profile.backward)} of it in the backward pass"
    )
    for scaling in dict.fromkeys(row.scaling for row in forecast.rows):
        batch = (
            f"{size} examples on each device" if scaling == "weak" else f"{size} examples in all"
        )
        yield Text(f"\n{scaling} scaling: {batch}", "bold")
        yield forecast_table([row for row in forecast.rows if row.scaling == scaling])
    yield from _facts(forecast)
    if forecast.checks:
        yield Text("\nchecked on this machine", "bold")
        yield check_table(forecast.checks)
        for devices, network in forecast.here.items():
            yield f"with the link measured here, {devices} devices: {_link(network)}"
    yield from (Text(note, "yellow") for note in forecast.notes)


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


def forecast_table(rows: Sequence[Row]) -> Table:
    """A row for each number of devices and algorithm; the last columns are efficiencies."""
    made = table(*COLUMNS, *(way.name for way in WAYS), left=("algorithm",))
    for devices, group in groupby(rows, key=lambda row: row.devices):
        chosen = list(group)[: 1 if devices == 1 else None]  # alone there is nothing to exchange
        for place, row in enumerate(chosen):
            made.add_row(
                f"{devices:,}" if place == 0 else "",
                "" if devices == 1 else row.algorithm.replace("_", " "),
                f"{row.batch_size:,}",
                milliseconds(row.compute),
                milliseconds(row.exchange) if devices > 1 else "",
                f"{row.speed_up(DURING):.3g}",
                *(percent(row.efficiency(way)) for way in WAYS),
                end_section=row is chosen[-1],
            )
    return made


def check_table(checks: Sequence[Check]) -> Table:
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
    return filled(columns, rows, left=("scaling",))


def figure(forecast: Forecast) -> Figure:
    """Axes for weak and for strong scaling, as far as there are rows."""
    rows, checks = forecast.rows, forecast.checks
    title = f"{forecast.profile.name}, {forecast.source}"
    scalings = list(dict.fromkeys(row.scaling for row in rows))
    made = new_figure(max(8.0, 0.6 + 4.9 * len(scalings)), 4.4, title)  # room for the title
    grid = made.subplots(1, len(scalings), squeeze=False)
    for axes, scaling in zip(grid[0], scalings, strict=True):
        here = [check for check in checks if check.scaling == scaling]
        draw_efficiency(axes, [row for row in rows if row.scaling == scaling], here)
    found = [axes.get_legend_handles_labels() for axes in grid[0]]
    named = {name: line for lines, names in found for line, name in zip(lines, names, strict=True)}
    options = {"frameon": False, "fontsize": FONT - 1, "labelcolor": INK}
    made.legend(list(named.values()), list(named), loc="outside lower center", ncols=4, **options)
    return made


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
        hue, marker = SERIES[place % len(SERIES)], MARKERS[place % len(MARKERS)]
        during, after = ([100 * row.efficiency(way) for row in chosen] for way in (DURING, AFTER))
        label = name.replace("_", " ")
        axes.plot(counts, during, color=hue, marker=marker, ms=6, mfc="none", label=label)
        axes.plot(counts, after, linestyle=":", linewidth=1.2, color=hue)
    axes.plot([], [], color=INK, linestyle=":", linewidth=1.2, label="without overlap")
    if checks:
        points = [(check.devices, 100 * check.efficiency) for check in checks]
        axes.plot(*zip(*points, strict=True), "x", ms=8, color=INK, label="measured here")
    counts = list(dict.fromkeys(row.devices for row in rows))
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, [f"{count:,}" for count in counts])
    axes.minorticks_off()
    axes.margins(x=0.03)  # room for the marks at both ends
    axes.set_ylim(bottom=0)


EXPERIMENT = Experiment(
    "scaling", __doc__, Question, run, tables, Forecast.to_dict, figure, besides=tuple(LAYERS)
)
