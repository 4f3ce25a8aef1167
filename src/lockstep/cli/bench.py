"""`lockstep bench allreduce`: how long every algorithm takes to sum a buffer over devices."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lockstep.cli.option_values import add_figure_option, check_figure, device_counts, words
from lockstep.cli.output import print_json

if TYPE_CHECKING:
    from lockstep.experiments.allreduce.measurements import Bench, Measurement, Results

COLUMNS = ("algorithm", "time", "middle half", "sent by one", "rounds", "predicted", "speed-up")


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser("bench", help="measure this machine")
    commands = parser.add_subparsers(dest="bench", metavar="COMMAND", required=True)
    allreduce = commands.add_parser(
        "allreduce",
        help="sum a buffer over devices, by every algorithm",
        description="Times every algorithm in turns, checks its sum, counts the bytes that each "
        "device sends, and puts beside it what the latency-bandwidth model predicts from probes "
        "of the same run.",
    )
    add = allreduce.add_argument
    add("--size", default="1MB,64MB", metavar="LIST", help="of the buffer (default: %(default)s)")
    add("--devices", default="2,4,8", metavar="LIST", help="how many (default: %(default)s)")
    add("--algorithms", default="all", metavar="LIST", help="by name, or all (the default)")
    add(
        "--transport",
        default="processes",
        metavar="NAME",
        help="processes: each device is a process, by torch.distributed (the default); "
        "shared: the same, through memory that they share; "
        "local: each device is a thread of one process",
    )
    add("--repeats", type=int, default=10, metavar="N", help="of each (default: %(default)s)")
    add(
        "--bandwidth",
        default="",
        metavar="RATE",
        help="give each device a link of its own, such as 10Gbit (transport processes)",
    )
    add("--json", action="store_true", help="print JSON")
    add_figure_option(allreduce)
    allreduce.set_defaults(handler=_allreduce)


def _allreduce(args: argparse.Namespace) -> int:
    from lockstep.experiments.allreduce.benchmark import run_bench

    bench, absent = _asked(args)
    check_figure(args.figure)
    for note in absent:
        print(note, file=sys.stderr)
    with _progress() as progress:
        results = run_bench(bench, progress)
    if args.json:
        print_json(_values(results))
    else:
        _print(results)
    if args.figure:
        from lockstep.experiments.allreduce.figure import allreduce_figure
        from lockstep.report.figures import save_figure

        path = save_figure(allreduce_figure(results), args.figure)
        print(f"figure: {path}", file=sys.stderr)
    return 0


# --- what is asked --------------------------------------------------------------------------------


def _asked(args: argparse.Namespace) -> tuple[Bench, list[str]]:
    """The benchmark, and a line for everything that `all` leaves out."""
    from lockstep.experiments.allreduce.measurements import (
        ENGINES,
        Bench,
        known_algorithms,
        usable_algorithms,
    )
    from lockstep.report.quantities import parse_bandwidth, parse_size

    bandwidth = parse_bandwidth(args.bandwidth) if args.bandwidth else math.inf
    names, absent = words("algorithms", args.algorithms), []
    if names == ["all"]:
        names = usable_algorithms(args.transport)
        for name in known_algorithms(args.transport):
            if name not in names:
                absent.append(f"{name} is left out: {ENGINES[name]} is not installed")
            elif name in ENGINES and bandwidth < math.inf:
                absent.append(f"{name} is left out: it cannot be given a bandwidth")
        names = [name for name in names if bandwidth == math.inf or name not in ENGINES]
    bench = Bench(
        sizes=tuple(dict.fromkeys(parse_size(word) for word in words("size", args.size))),
        devices=tuple(device_counts(args.devices)),
        algorithms=tuple(dict.fromkeys(name.replace("-", "_") for name in names)),
        transport=args.transport,
        repeats=args.repeats,
        bandwidth=bandwidth,
    )
    return bench, absent


# --- what is shown --------------------------------------------------------------------------------


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """A bar on a terminal, a line every few seconds elsewhere; on stderr."""
    from lockstep.report.work_progress import work_progress

    with work_progress("allreduce", sys.stderr) as tell:
        yield lambda what, done, total: tell(done / total, what)


def _values(results: Results) -> dict[str, Any]:
    from dataclasses import asdict

    rows = []
    for row in results.rows:
        low, high = row.spread
        rows.append({**asdict(row), "median": row.median, "low": low, "high": high})
    return {
        "bench": asdict(results.bench),
        "rows": rows,
        "links": {str(devices): asdict(link) for devices, link in results.links.items()},
    }


def _print(results: Results) -> None:
    from lockstep.report.quantities import format_size
    from lockstep.report.tables import console, table

    out = console()
    for size in results.bench.sizes:
        for devices in results.bench.devices:
            rows = [row for row in results.rows if (row.size, row.devices) == (size, devices)]
            out.print(f"\n{format_size(size)} over {devices} devices", style="bold")
            made = table(*COLUMNS, left=COLUMNS[:1])
            for row in rows:
                made.add_row(*_cells(row, rows))
            out.print(made)
    for line in _facts(results):
        out.print(line)


def _cells(row: Measurement, rows: list[Measurement]) -> list[str]:
    from lockstep.report.numbers import milliseconds
    from lockstep.report.quantities import format_size

    low, high = row.spread
    first = rows[0].median
    return [
        _words_of(row.algorithm),
        milliseconds(row.median),
        f"{milliseconds(low)} to {milliseconds(high)}",
        "" if row.sent is None else format_size(row.sent),
        "" if row.rounds is None else str(row.rounds),
        "" if row.predicted is None else milliseconds(row.predicted),
        f"{first / row.median:.2f}" if row.median else "",
    ]


def _words_of(algorithm: str) -> str:
    return algorithm.replace("_", " ")


def _facts(results: Results) -> Iterator[str]:
    """How to read the tables."""
    from lockstep.report.quantities import format_bandwidth

    bench = results.bench
    yield f"\ntimes are medians of {bench.repeats}; speed-up: over {_words_of(bench.algorithms[0])}"
    for devices, link in results.links.items():
        alone, shared = format_bandwidth(link.bandwidth), format_bandwidth(link.shared)
        yield (
            f"{devices} devices: latency {link.latency * 1e6:.0f} us, {alone} for one, {shared} "
            f"for all together, adding {format_bandwidth(link.adding)}"
        )
    if bench.bandwidth < math.inf:
        yield f"each device behind a link of {format_bandwidth(bench.bandwidth)}, both ways"
