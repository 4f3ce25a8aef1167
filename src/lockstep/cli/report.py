"""`lockstep report`: anybody's runs on one page, their curves over each other."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockstep.cli.output import add_open_option, open_page
from lockstep.cli.run_options import RUN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lockstep.training.directory import RunDirectory

AXES = ("step", "epoch", "examples", "seconds")


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser("report", help="one page of several runs, with their curves")
    parser.add_argument("runs", metavar="RUN", nargs="+", help=RUN)
    parser.add_argument("--out", required=True, metavar="FILE", help="the page: a file .html")
    add_axis_option(parser, default="step")
    parser.add_argument("--title", default="", metavar="TEXT", help="of the page")
    add_open_option(parser)
    parser.set_defaults(handler=_report)


def add_axis_option(parser: argparse.ArgumentParser, default: str | None) -> None:
    """--x: what curves are drawn against."""
    parser.add_argument(
        "--x", choices=AXES, default=default, help="what curves are drawn against (default: step)"
    )


def find_runs(names: Iterable[str]) -> list[RunDirectory]:
    """The runs of these names; a folder that holds something else is refused as that."""
    from lockstep.training.directory import RunDirectory, find

    # a name without a folder below runs/ and a folder with that name here: the path counts
    return [
        RunDirectory(Path(name)) if Path(name).is_dir() and "/" in name else find(name)
        for name in names
    ]


def _report(args: argparse.Namespace) -> int:
    from lockstep.report.run_rows import read_runs
    from lockstep.report.runs_page import check_place, write_runs_page

    out = Path(args.out)
    check_place(out)
    runs = read_runs(find_runs(args.runs))
    command = shlex.join(["lockstep", *args.words])
    page = write_runs_page(runs, out, args.x, args.title, command)
    print(f"report: {page}")
    open_page(args, page)
    return 0
