"""`lockstep show`: what a run was asked, how it went, and how it differs from another."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockstep.cli.output import check_figure, print_json, write_figure
from lockstep.cli.run_options import RUN
from lockstep.cli.runs import outline
from lockstep.errors import InputError

if TYPE_CHECKING:
    from lockstep.training.directory import RunDirectory


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser("show", help="what a run was asked, how it went, its curves")
    parser.add_argument("run", metavar="RUN", help=RUN)
    parser.add_argument(
        "--against", metavar="RUN", help="what differs from another run; --figure draws both"
    )
    parser.add_argument("--report", action="store_true", help="write RUN/report.html")
    parser.add_argument(
        "--figure",
        metavar="FILE",
        nargs="?",
        const="",
        help="write the curves as PNG or SVG (default: RUN/figures/curves.svg)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(handler=_show)


def _show(args: argparse.Namespace) -> int:
    from lockstep.report.run_tables import print_run
    from lockstep.training import checkpoints
    from lockstep.training.directory import find

    if args.figure:
        check_figure(args.figure)
    directory = find(args.run)
    if args.against:
        return _show_two(args, directory, find(args.against))
    history = directory.history()
    history.damage += checkpoints.damaged(directory.checkpoint_folder)
    notes = sys.stderr if args.json else sys.stdout  # JSON is alone on stdout
    if args.json:
        found = outline(directory) | {"damage": history.damage}
        print_json(found | {"spec": directory.spec.to_dict()})
    else:
        print_run(directory, history)
    if args.figure is not None:
        from lockstep.report.run_figures import run_figure

        path = Path(args.figure or directory.path / "figures" / "curves.svg")
        write_figure(run_figure(history, title=directory.path.name), path, notes)
    if args.report:
        from lockstep.report.run_page import write_run_page

        print(f"report: {write_run_page(directory, history)}", file=notes)
    return 0


def _show_two(args: argparse.Namespace, one: RunDirectory, other: RunDirectory) -> int:
    """The fields in which two runs differ and, if asked, their curves in one figure."""
    from lockstep.report.run_tables import print_diff
    from lockstep.spec import diff

    if args.report:
        problem = "a page is of one run, and --against names a second"
        raise InputError("report", True, problem, "Leave one of them out, or use --figure.")
    rows = diff(one.spec, other.spec)
    if args.json:
        print_json([{"field": n, "one": a, "other": b} for n, a, b in rows])
    else:
        print_diff(rows)
    if args.figure is not None:
        from lockstep.report.run_figures import against_figure

        named = {run.path.resolve(): run for run in (one, other)}
        names = {path.name: run for path, run in named.items()}
        labels = names if len(names) == len(named) else {str(p): run for p, run in named.items()}
        histories = {label: run.history() for label, run in labels.items()}
        file = Path(
            args.figure or one.path / "figures" / f"against-{other.path.resolve().name}.svg"
        )
        drawn = against_figure(histories, " against ".join(labels))
        write_figure(drawn, file, sys.stderr if args.json else sys.stdout)
    return 0
