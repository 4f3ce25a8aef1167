"""`lockstep experiment ways-to-split`: one batch over devices by data, within layers, by layers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lockstep.cli.option_values import add_figure_option, check_figure, words
from lockstep.cli.output import print_json

if TYPE_CHECKING:
    from lockstep.experiments.ways_to_split.question import Question
    from lockstep.experiments.ways_to_split.results import Results, WayFacts

WORDS = {"data": "by data", "within": "within layers", "layers": "by layers"}
COLUMNS = (
    "way", "time", "middle half", "speed-up", "sent by all", "messages", "waiting", "gradient off",
)  # fmt: skip
DEVICES = ("way", "device", "has", "parameters", "activations", "sends", "messages")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Trains LeNet on devices that are processes of one thread, in three ways in turns: every "
        "device has a part of the batch, a part of every layer, or some of the layers. Compares "
        "their gradients with one device's, and counts the bytes that each device sends."
    )
    add = parser.add_argument
    add("--devices", type=int, default=2, metavar="K", help="how many (default: %(default)s)")
    add("--batch-size", type=int, default=256, metavar="N", help="of all (default: %(default)s)")
    add(
        "--micro-batches",
        type=int,
        default=4,
        metavar="M",
        help="parts of a batch in the pipeline (default: %(default)s)",
    )
    add("--pooling", default="max", metavar="NAME", help="LeNet's form: max (the default) or avg")
    add("--precision", default="float32", metavar="NAME", help="float32 (the default) or float64")
    add("--steps", type=int, default=20, metavar="N", help="of each way (default: %(default)s)")
    add("--ways", default="all", metavar="LIST", help=f"{', '.join(WORDS)} or all (the default)")
    add(
        "--data",
        default="",
        metavar="NAME",
        help="real or generated images (default: real if they are on this machine)",
    )
    add("--seed", type=int, default=0, metavar="N", help="of weights and batches (default: 0)")
    add("--json", action="store_true", help="print JSON")
    add_figure_option(parser)
    parser.set_defaults(handler=_run)


def _run(args: argparse.Namespace) -> int:
    from lockstep.experiments.ways_to_split.measured import run
    from lockstep.report.work_progress import work_progress

    asked = _asked(args)
    check_figure(args.figure)
    with work_progress("ways to split", sys.stderr) as tell:
        results = run(asked, lambda what, done, total: tell(done / total, what))
    if args.json:
        print_json(_values(results))
    else:
        _print(results)
    if args.figure:
        from lockstep.experiments.ways_to_split.figures import split_figure
        from lockstep.report.figures import save_figure

        print(f"figure: {save_figure(split_figure(results), args.figure)}", file=sys.stderr)
    return 0


def _asked(args: argparse.Namespace) -> Question:
    from lockstep.errors import unknown
    from lockstep.experiments.ways_to_split.question import WAYS, Question

    names = words("ways", args.ways)
    for name in names:
        if name not in WORDS and name != "all":
            raise unknown("ways", name, [*WORDS, "all"])
    chosen = WAYS if "all" in names else tuple(WORDS[name] for name in names)
    return Question(
        args.devices,
        args.batch_size,
        args.micro_batches,
        args.pooling,
        args.precision,
        args.steps,
        chosen,
        args.data,
        args.seed,
    )


# --- what is shown --------------------------------------------------------------------------------


def _values(results: Results) -> dict[str, Any]:
    from dataclasses import asdict

    ways = []
    for way in results.ways:
        values = asdict(way)
        del values["gradient"]  # 61,706 numbers
        low, high = way.spread
        ways.append({**values, "median": way.median, "low": low, "high": high, "idle": way.idle})
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


def _print(results: Results) -> None:
    from lockstep.report.tables import console, table

    out = console()
    out.print(results.title, style="bold")
    made = table(*COLUMNS, left=COLUMNS[:1])
    for way in results.ways:
        made.add_row(*_cells(way, results.one_device))
    out.print(made)
    out.print()
    made = table(*DEVICES, left=(DEVICES[0], DEVICES[2]))
    for way in results.ways:
        for row in _device_cells(way):
            made.add_row(*row)
    out.print(made)
    for line in _facts(results):
        out.print(line)


def _cells(way: WayFacts, one: WayFacts) -> list[str]:
    from lockstep.report.numbers import deviation, milliseconds
    from lockstep.report.quantities import format_size

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


def _device_cells(way: WayFacts) -> Iterator[list[str]]:
    from lockstep.report.quantities import format_size

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


def _facts(results: Results) -> Iterator[str]:
    """How to read the tables."""
    from lockstep.experiments.ways_to_split.turns import num_updates
    from lockstep.report.numbers import deviation

    asked = results.question
    yield (
        f"times are medians of {asked.steps} steps, of the slowest device; bytes and messages are "
        "counted as they are sent, in one step"
    )
    parted = max(way.path_deviation for way in results.ways)
    losses = results.one_device.losses
    yield (
        f"after {num_updates(asked.steps)} updates all weights are within {deviation(parted)} of "
        f"one device's; loss {losses[0]:.4f} to {losses[-1]:.4f}"
    )
    if results.bubble is not None and results.bubble_of_stages is not None:
        idle = results["by layers"].idle
        yield (
            f"the pipeline stands still {results.bubble:.0%} of the time by (k-1)/(m+k-1), "
            f"{results.bubble_of_stages:.0%} with stages as uneven as these, {idle:.0%} measured"
        )
