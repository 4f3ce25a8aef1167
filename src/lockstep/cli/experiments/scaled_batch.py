"""`lockstep experiment scaled-batch`: k devices with k times the batch, and the rate by rules."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from lockstep.cli.option_values import add_figure_option, check_figure, device_counts, words
from lockstep.cli.output import print_json
from lockstep.cli.run_options import add_run_options, spec_from, tell_framework

if TYPE_CHECKING:
    from lockstep.experiments.scaled_batch import Curve, Question

COLUMNS = ("devices", "rule", "batch size", "lr", "updates", "time", "metric", "ended")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Trains a recipe on k devices with k times the batch, its learning rate multiplied by a "
        "rule (none, linear, square_root), and compares accuracy against the time spent in steps."
    )
    add_run_options(parser, ["devices"])
    add = parser.add_argument
    add("--devices", default="1,2", metavar="LIST", help="how many (default: %(default)s)")
    add("--rules", default="none,linear,square_root", metavar="LIST", help="default: all three")
    add("--warmup", type=int, default=0, metavar="N", help="before the schedule, in its unit")
    add("--json", action="store_true", help="print JSON")
    add_figure_option(parser)
    parser.set_defaults(handler=_run)


def _run(args: argparse.Namespace) -> int:
    from lockstep.experiments.scaled_batch import metric_of, run
    from lockstep.report.work_progress import work_progress

    asked = _asked(args)
    metric = metric_of(asked.spec)
    check_figure(args.figure)
    tell_framework(args)
    with work_progress("scaled batch", sys.stderr) as tell:
        curves = run(asked, lambda what, done: tell(done, what))
    if args.json:
        from dataclasses import asdict

        print_json({"metric": metric, "runs": [asdict(curve) for curve in curves]})
    else:
        _print(curves, metric)
    if args.figure:
        from lockstep.experiments.scaled_batch import scaled_batch_figure
        from lockstep.report.figures import save_figure

        spec = asked.spec
        title = f"{spec.name} in {spec.framework}: k devices, k times {spec.batch_size} examples"
        path = save_figure(scaled_batch_figure(curves, metric, title), args.figure)
        print(f"figure: {path}", file=sys.stderr)
    return 0


def _asked(args: argparse.Namespace) -> Question:
    from lockstep.experiments.scaled_batch import Question

    devices = tuple(device_counts(args.devices))
    args.devices = None  # the list is not a field of the spec
    return Question(spec_from(args), devices, tuple(words("rules", args.rules)), args.warmup)


def _print(curves: list[Curve], metric: str) -> None:
    from lockstep.report.numbers import metric_name
    from lockstep.report.tables import console, table

    made = table(*COLUMNS[:-2], metric_name(metric), COLUMNS[-1], left=("rule", "ended"))
    for curve in curves:
        last = curve.values[-1] if curve.values else float("nan")
        value = f"{last:.2%}" if metric.endswith("accuracy") else f"{last:.4f}"
        seconds = curve.seconds[-1] if curve.seconds else float("nan")
        made.add_row(
            str(curve.devices),
            curve.rule,
            str(curve.batch_size),
            f"{curve.lr:.3g}",
            str(curve.num_steps),
            f"{seconds:.1f} s",
            value,
            curve.status,
        )
    console().print(made)
