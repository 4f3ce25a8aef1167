"""`lockstep sweep`: a run over a grid of settings, many at once."""

from __future__ import annotations

import argparse
import shlex
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from lockstep.cli.asked_run import report_framework, spec_from
from lockstep.cli.output import (
    add_figure_option,
    add_open_option,
    answer,
    check_figure,
    open_page,
    write_figure,
)
from lockstep.cli.run_options import add_run_options
from lockstep.errors import InputError


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "sweep",
        help="train a run over a grid of settings, many at once",
        description="Trains every combination of the grid's values: in one compiled program where "
        "the framework can (jax), else in processes. Prints a table, and the command that repeats "
        "the best setting. The same command continues a sweep that was stopped.",
        epilog="example: lockstep sweep airfoil-linear --framework jax "
        "--grid lr=0.01:1:log16 batch_size=10,100",
    )
    add_run_options(parser)
    parser.usage = "%(prog)s RECIPE --grid FIELD=VALUES ... [options]"
    group = parser.add_argument_group("the sweep")
    group.add_argument(
        "--grid",
        nargs="+",
        action="extend",
        default=[],
        metavar="FIELD=VALUES",
        help="a field by (dotted) name, or lr, and its values: a,b,c; whole numbers 0:4 (both ends "
        "included); start:stop:linN or start:stop:logN, N numbers, both ends included",
    )
    group.add_argument("--out", metavar="DIR", help="the sweep's folder (default: below sweeps/)")
    group.add_argument(
        "--processes",
        type=int,
        default=0,
        metavar="N",
        help="at a time, where settings are not trained together (default: as many as cores)",
    )
    group.add_argument(
        "--metric",
        default="",
        metavar="NAME",
        help="that says which is best (default: accuracy or loss of the test split if measured)",
    )
    group.add_argument("--yes", action="store_true", help="train even more than 1,000 runs")
    add_figure_option(parser)
    add_open_option(parser)
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.set_defaults(handler=_sweep)


def _sweep(args: argparse.Namespace) -> int:
    try:
        return _carry_out(args)
    except KeyboardInterrupt as stopped:  # with nothing to say, before the first step or after all
        said = str(stopped) or "interrupted"
        print(f"lockstep: {said}; the same command continues", file=sys.stderr)
        return 130


def _carry_out(args: argparse.Namespace) -> int:
    from lockstep.report.figures import draw
    from lockstep.report.progress import work_progress
    from lockstep.report.sweep_charts import sweep_chart
    from lockstep.report.sweep_page import write_sweep_page
    from lockstep.report.terminal_plot import print_plot
    from lockstep.sweeps import parse_grid, sweep
    from lockstep.sweeps.sweep_folder import default_path

    grid = parse_grid(args.grid)
    for name in grid.axes:
        if getattr(args, name, None) is not None:
            problem, remedy = "is in the grid too", f"Leave --{name.replace('_', '-')} out."
            raise InputError(name, getattr(args, name), problem, remedy)
    spec = spec_from(args)
    if not args.processes >= 0:
        remedy = "Give a number such as 2."
        raise InputError("processes", args.processes, "must be at least 1", remedy)
    check_figure(args.figure)
    grid.specs(spec)  # every mistake before the folder is made
    out = args.out or default_path(spec, grid)
    quiet = args.quiet or args.json
    with nullcontext() if quiet else work_progress("sweep", sys.stderr) as shown:

        def progress(share: float, text: str) -> None:
            report_framework(args)  # with the first news: a mistake comes before anything else
            if shown is not None:
                shown(share, text)

        found = sweep(
            spec,
            grid=grid,
            out=out,
            processes=args.processes,
            metric=args.metric,
            progress=progress,
            confirmed=args.yes,
        )
    found = replace(found, source=args.run)
    chart = sweep_chart(found)
    answer(args, found.to_dict(), found.show)
    if not args.json:
        print_plot(chart.panels[0])
    command = shlex.join(["lockstep", *args.words])
    page = write_sweep_page(found, Path(out) / "page.html", command)
    print(f"page: {page}", file=sys.stderr)
    open_page(args, page)
    if args.figure:
        write_figure(draw(chart), args.figure)
    return 2 if all(row.status == "failed" for row in found.rows) else 0
