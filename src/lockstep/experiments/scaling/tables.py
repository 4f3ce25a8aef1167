"""Tables of a scaling forecast: what every algorithm will take, what was measured beside it, and
what others have published."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, TextIO

from rich.table import Table

from lockstep.experiments.scaling.model import fastest
from lockstep.experiments.scaling.overlap import AFTER, DURING, WAYS, fill_buckets
from lockstep.report.numbers import milliseconds
from lockstep.report.quantities import format_bandwidth, format_size
from lockstep.report.tables import console, table

if TYPE_CHECKING:
    from lockstep.experiments.scaling.forecast import Check, Forecast
    from lockstep.experiments.scaling.model import Network, Row
    from lockstep.experiments.scaling.published import Figure

    Published = tuple[Figure, Row, Row | None]  # and the model's, and its with a fitted link

COLUMNS = ("devices", "algorithm", "batch each", "compute", "exchange", "speed-up")


def print_forecast(forecast: Forecast, file: TextIO | None = None) -> None:
    """What was measured, a table for each scaling, and how to read them."""
    out, profile = console(file), forecast.profile
    size = profile.batch_size
    out.print(f"{profile.name}, {forecast.source}", style="bold")
    out.print(
        f"gradient {format_size(profile.size)} in {len(profile.pieces)} arrays; one device: "
        f"{milliseconds(profile.seconds[size])} for a step of {size}, "
        f"{percent(profile.backward)} of it in the backward pass"
    )
    for scaling in dict.fromkeys(row.scaling for row in forecast.rows):
        batch = (
            f"{size} examples on each device" if scaling == "weak" else f"{size} examples in all"
        )
        out.print(f"\n{scaling} scaling: {batch}", style="bold")
        out.print(forecast_table([row for row in forecast.rows if row.scaling == scaling]))
    for line in _facts(forecast):
        out.print(line, soft_wrap=True)
    if forecast.checks:
        out.print("\nchecked on this machine", style="bold")
        out.print(check_table(forecast.checks))
        for devices, network in forecast.here.items():
            out.print(f"with the link measured here, {devices} devices: {_link(network)}")
    for note in forecast.notes:
        out.print(note, soft_wrap=True, style="yellow")


def _facts(forecast: Forecast) -> Iterator[str]:
    for scaling, rows in groupby(forecast.rows, key=lambda row: row.scaling):
        row = fastest(list(rows))
        name = row.algorithm.replace("_", " ") if row.devices > 1 else "no exchange"
        speed = f"{row.speed_up(DURING):.3g} times one device"
        yield f"{scaling}, fastest: {row.devices} devices, {name}, {speed}"
    profile, network = forecast.profile, forecast.network
    if len(fill_buckets(profile.pieces, network.bucket // profile.itemsize)) == 1:
        yield "all of the gradient fits into one bucket, which waits for its last array: --bucket"
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
    made = table(
        "scaling", "devices", "batch in all", "compute", "measured", "efficiency",
        "predicted, after", "predicted, during", left=("scaling",),
    )  # fmt: skip
    for check in checks:
        made.add_row(
            check.scaling,
            str(check.devices),
            str(check.batch_size),
            milliseconds(check.compute),
            milliseconds(check.measured),
            percent(check.efficiency),
            milliseconds(check.predicted[AFTER]),
            milliseconds(check.predicted[DURING]),
        )
    return made


def print_published(found: Sequence[Published], file: TextIO | None = None) -> None:
    """Published figures beside the model, and what it assumes."""
    out = console(file)
    out.print(published_table(found))
    out.print(
        "ring, links at their full rate, 5 us a round, buckets of 64 MiB, servers of 4 GPUs that "
        "share a link; fitted: with the rate and the time of a round that fit the other figures of "
        "the same network; docs/scaling.md has every assumption",
        soft_wrap=True,
    )


def published_table(found: Sequence[Published]) -> Table:
    """Published efficiencies and what the model says of them."""
    made = table(
        "model", "devices", "setting", "published", "buckets, after", "buckets, during", "too high",
        "fitted", "too high", left=("model", "setting"),
    )  # fmt: skip
    for figure, row, fitted in found:
        made.add_row(
            figure.model,
            str(figure.devices),
            figure.setting,
            percent(figure.efficiency),
            percent(row.efficiency(AFTER)),
            *_held_against(figure, row),
            *(_held_against(figure, fitted) if fitted else ("-", "-")),
        )
    return made


def _held_against(figure: Figure, row: Row) -> tuple[str, str]:
    """What the model says, and by how many points that is more than was published."""
    during = row.efficiency(DURING)
    return percent(during), f"{100 * (during - figure.efficiency):+.1f}"


def percent(share: float) -> str:
    """
    >>> percent(0.9351), percent(0.00021)
    ('93.5 %', '0.021 %')
    """
    return f"{100 * share:.1f} %" if share >= 0.01 else f"{100 * share:.2g} %"
