"""`lockstep scale`: what training on many devices will take, from a measured step."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lockstep.cli.option_values import add_figure_option, check_figure, device_counts, words
from lockstep.cli.output import print_json
from lockstep.cli.run_options import add_run_options, spec_from, tell_framework
from lockstep.errors import LockstepError

if TYPE_CHECKING:
    from lockstep.experiments.scaling.forecast import Check, Forecast
    from lockstep.experiments.scaling.model import Network, Row


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "scale",
        help="forecast training on many devices",
        description="Measures a step on one device, at every batch size that a device would have, "
        "and forecasts the step on many from the gradient's size and the network. RECIPE may also "
        "be inception-v3, resnet-101 or vgg-16, with published times of one GPU; `horovod` holds "
        "the model against Horovod's published figures.",
    )
    add_run_options(parser, ["devices", "threads"])  # a list here, and those of a device
    group = parser.add_argument_group("the forecast")
    for name, default, metavar, text in (
        ("--bandwidth", "25Gbit", "RATE", "of a server's link"),
        ("--latency", "5us", "TIME", "of a round of messages"),
        ("--host-bandwidth", "12GB", "RATE", "of a device within its server, with --per-host"),
        ("--bucket", "25MB", "SIZE", "of the gradient that is exchanged at once"),
        ("--algorithms", "all", "LIST", "of the allreduce, by name"),
    ):
        group.add_argument(
            name, default=default, metavar=metavar, help=f"{text} (default: %(default)s)"
        )
    add = group.add_argument
    add("--devices", dest="counts", default="1,2,4,8,64,512", metavar="LIST",
        help="how many (default: %(default)s)")  # fmt: skip
    add("--per-host", type=int, default=1, metavar="N",
        help="devices that share a server's link (default: %(default)s)")  # fmt: skip
    add("--seconds", type=float, default=1.0, metavar="S",
        help="of steps for each batch size (default: %(default)s)")  # fmt: skip
    add("--backward", type=float, default=2 / 3, metavar="SHARE",
        help="of a step that is the backward pass (default: 2/3)")  # fmt: skip
    add("--threads", dest="device_threads", type=int, default=1, metavar="N",
        help="of a device (default: 1)")  # fmt: skip
    add("--no-check", action="store_true", help="do not train on several devices to compare")
    add_figure_option(parser)
    add("--json", action="store_true", help="print JSON")
    parser.set_defaults(handler=_scale)


def _scale(args: argparse.Namespace) -> int:
    from lockstep.experiments.scaling.published import LAYERS

    if args.run == "horovod":
        return _horovod(args)
    devices, algorithms, network = _asked(args)
    check_figure(args.figure)
    if args.run in LAYERS:
        forecast = _published(args, devices, algorithms, network)
    else:
        forecast = _measured(args, devices, algorithms, network)
    return _show(forecast, args)


# --- what is asked --------------------------------------------------------------------------------


def _asked(args: argparse.Namespace) -> tuple[list[int], list[str], Network]:
    from lockstep.experiments.allreduce import algorithms
    from lockstep.experiments.allreduce.cost import Hosts, Link
    from lockstep.experiments.scaling.model import Network
    from lockstep.report.quantities import parse_bandwidth, parse_duration, parse_size

    names = [name.replace("-", "_") for name in words("algorithms", args.algorithms)]
    names = list(algorithms.ALGORITHMS) if names == ["all"] else list(dict.fromkeys(names))
    for name in names:
        algorithms.get(name)
    link = Link(parse_duration(args.latency), parse_bandwidth(args.bandwidth))
    inner = parse_bandwidth(args.host_bandwidth, "host-bandwidth")
    hosts = Hosts(args.per_host, inner) if args.per_host != 1 else Hosts()
    devices = sorted({1, *device_counts(args.counts)})  # all are compared with one
    return devices, names, Network(link, hosts, parse_size(args.bucket, "bucket"))


# --- where its times are from ---------------------------------------------------------------------


def _measured(
    args: argparse.Namespace, devices: list[int], algorithms: list[str], network: Network
) -> Forecast:
    from lockstep.cli import scaling_run as run
    from lockstep.experiments.scaling.forecast import Forecast
    from lockstep.experiments.scaling.measuring import ROUNDS
    from lockstep.experiments.scaling.model import batch_sizes, check_share, estimate

    spec = spec_from(args)
    check_share(args.backward)
    sizes = batch_sizes(spec.batch_size, devices)
    several = [] if args.no_check else [k for k in devices if 1 < k <= (os.cpu_count() or 1)]
    checks: list[Check] = []
    here: dict[int, Network] = {}
    notes: list[str] = []
    total = ROUNDS * (len(sizes) + 4 * len(several)) + 1 + bool(several)
    tell_framework(args)
    with run.threads(args.device_threads), _progress(total) as tell:
        profile = run.measure_profile(spec, sizes, args.seconds, args.backward, tell)
        try:
            if several:
                checks, here = run.check_devices(
                    spec, profile, several, network.bucket, args.seconds, tell
                )
        except LockstepError as error:  # the forecast stands without it
            notes.append(f"not checked on {several} devices here: {error}")
    rows = estimate(profile, devices, algorithms, network)
    source = (
        f"measured in {spec.framework}, {spec.style}, threads of a device: {args.device_threads}"
    )
    return Forecast(profile, source, network, tuple(rows), tuple(checks), here, tuple(notes))


def _published(
    args: argparse.Namespace, devices: list[int], algorithms: list[str], network: Network
) -> Forecast:
    from lockstep.experiments.scaling.forecast import Forecast
    from lockstep.experiments.scaling.model import estimate
    from lockstep.experiments.scaling.published import PUBLISHED, profile_of

    figure = next(figure for figure in PUBLISHED if figure.model == args.run)
    profile = profile_of(figure.model, figure.images_per_second)
    rows = estimate(profile, devices, algorithms, network, ["weak"])
    source = f"{figure.images_per_second} images/s on one Pascal GPU, as Horovod published"
    note = "strong scaling is left out: one GPU's time is published for one batch size only"
    return Forecast(profile, source, network, tuple(rows), notes=(note,))


def _horovod(args: argparse.Namespace) -> int:
    from dataclasses import asdict

    from lockstep.experiments.scaling.fitted import foretold
    from lockstep.experiments.scaling.overlap import WAYS
    from lockstep.experiments.scaling.published import PUBLISHED, predicted
    from lockstep.experiments.scaling.tables import print_published

    def values(row: Row | None) -> dict[str, float] | None:
        return {way.name: row.efficiency(way) for way in WAYS} if row else None

    found = [(figure, predicted(figure), foretold(figure)) for figure in PUBLISHED]
    if args.json:
        print_json(
            [{**asdict(f), "predicted": values(p), "fitted": values(o)} for f, p, o in found]
        )
    else:
        print_published(found)
    return 0


# --- what is shown --------------------------------------------------------------------------------


@contextmanager
def _progress(total: int) -> Iterator[Callable[[str], None]]:
    """A bar on a terminal, a line every few seconds elsewhere; on stderr."""
    from lockstep.report.work_progress import work_progress

    done = 0
    with work_progress("scale", sys.stderr) as tell:

        def one_more(what: str) -> None:
            nonlocal done
            done += 1
            tell(min(1.0, done / total), what)

        yield one_more


def _show(forecast: Forecast, args: argparse.Namespace) -> int:
    from lockstep.experiments.scaling.tables import print_forecast

    if args.json:
        print_json(forecast.to_dict())
    else:
        print_forecast(forecast)
    if args.figure:
        from lockstep.experiments.scaling.figures import scaling_figure
        from lockstep.report.figures import save_figure

        title = f"{forecast.profile.name}, {forecast.source}"
        path = save_figure(scaling_figure(forecast.rows, forecast.checks, title), args.figure)
        print(f"figure: {path}", file=sys.stderr)
    return 0
