"""`lockstep runs`: the runs below a folder. `lockstep show`: what a run was asked, how it went, and
how it differs from others."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from lockstep.cli.output import add_open_option, answer, check_figure, open_page, write_figure
from lockstep.cli.report import add_axis_option, find_runs
from lockstep.cli.run_options import RUN
from lockstep.errors import InputError

if TYPE_CHECKING:
    from lockstep.training.directory import RunDirectory


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser("runs", help="list the runs below a folder")
    parser.add_argument("--root", default="runs", metavar="DIR", help="the folder (default: runs)")
    parser.set_defaults(handler=_runs)
    show = subparsers.add_parser("show", help="what a run was asked, how it went, its curves")
    help = f"{RUN} (the default); of several, what differs"
    show.add_argument("runs", metavar="RUN", nargs="*", default=["last"], help=help)
    show.add_argument(
        "--against", metavar="RUN", help="what differs from another run; --figure draws both"
    )
    show.add_argument("--report", action="store_true", help="write RUN/report.html")
    add_open_option(show, "write RUN/report.html and open it in the browser")
    show.add_argument(
        "--figure",
        metavar="FILE",
        nargs="?",
        const="",
        help="write the curves as PNG or SVG (default: RUN/figures/curves.svg)",
    )
    add_axis_option(show, default=None)
    show.set_defaults(handler=_show)
    for command in (parser, show):
        command.add_argument("--json", action="store_true", help="print JSON")


def _runs(args: argparse.Namespace) -> int:
    from lockstep.report.run_tables import print_runs
    from lockstep.training.directory import all_runs

    rows = [_row(directory) for directory in all_runs(Path(args.root))]
    answer(args, rows, lambda: print_runs(rows, args.root))
    return 0


def _row(directory: RunDirectory) -> dict[str, Any]:
    """A run's outline; what of it cannot be read is said apart."""
    from lockstep.training.run_list import outline_of

    row = outline_of(directory)
    for line in filter(None, [*row.pop("damage"), row.pop("problem")]):
        print(f"lockstep: {line}", file=sys.stderr)
    return row


def _show(args: argparse.Namespace) -> int:
    from lockstep.report.run_tables import print_run
    from lockstep.training import checkpoints
    from lockstep.training.run_list import outline

    if args.figure:
        check_figure(args.figure)
    args.report = args.report or args.open
    directory, *others = find_runs(args.runs)
    if others:
        return _show_several(args, [directory, *others])
    if args.against:
        return _show_two(args, directory, *find_runs([args.against]))
    history = directory.history()
    history.damage += checkpoints.damaged(directory.checkpoint_folder)
    notes = sys.stderr if args.json else sys.stdout  # JSON is alone on stdout
    found = {
        **outline(directory, history),
        "parameters": directory.num_parameters,
        "spec": directory.spec.to_dict(),
    }
    answer(args, found, lambda: print_run(directory, history))
    if args.figure is not None:
        path = Path(args.figure or directory.path / "figures" / "curves.svg")
        _draw([directory], path, args.x, notes)
    if args.report:
        from lockstep.report.run_page import write_run_page

        page = write_run_page(directory, history)
        print(f"report: {page}", file=notes)
        open_page(args, page)
    return 0


def _show_two(args: argparse.Namespace, one: RunDirectory, other: RunDirectory) -> int:
    """The fields in which two runs differ and, if asked, their curves in one figure."""
    from lockstep.report.run_tables import print_diff
    from lockstep.spec import diff

    if args.report:
        problem = "a page is of one run, and --against names a second"
        raise InputError(_page_asked(args), True, problem, "Leave one out, or use --figure.")
    rows = diff(one.spec, other.spec)
    values = [{"field": name, "one": a, "other": b} for name, a, b in rows]
    answer(args, values, lambda: print_diff(rows))
    if args.figure is not None:
        file = Path(
            args.figure or one.path / "figures" / f"against-{other.path.resolve().name}.svg"
        )
        _draw([one, other], file, args.x or "step", sys.stderr if args.json else sys.stdout)
    return 0


def _show_several(args: argparse.Namespace, directories: list[RunDirectory]) -> int:
    """What differs between several runs, what they came to and, if asked, their curves."""
    from lockstep.report.run_rows import as_values, print_run_rows, read_runs

    if args.against:
        problem = "names another run, and several are given already"
        raise InputError("against", args.against, problem, "Name all of them without --against.")
    if args.report:
        problem = "a page in a run's folder is of one run"
        remedy = "Use `lockstep report RUN... --out FILE`."
        raise InputError(_page_asked(args), True, problem, remedy)
    runs = read_runs(directories)
    answer(args, as_values(runs), lambda: print_run_rows(runs))
    if args.figure is not None:
        path = Path(args.figure or directories[0].path / "figures" / "runs.svg")
        _draw(directories, path, args.x or "step", sys.stderr if args.json else sys.stdout)
    return 0


def _page_asked(args: argparse.Namespace) -> str:
    """The option that asked for a page."""
    return "open" if args.open else "report"


def _draw(directories: list[RunDirectory], path: Path, x: str | None, notes: TextIO) -> None:
    """The curves of one run, or of several over each other, in a file."""
    from lockstep.report.curves import note
    from lockstep.report.figures import draw
    from lockstep.report.run_charts import run_chart, runs_chart
    from lockstep.report.run_rows import read_runs

    runs = read_runs(directories)
    if len(runs) == 1 and x is None:
        chart = run_chart(runs[0].history, runs[0].label, said=note(runs))
    else:
        labels = [run.label for run in runs]
        few = " against ".join(labels) if len(labels) <= 2 else f"{len(labels)} runs"
        chart = runs_chart(runs, x or "step", few)
    write_figure(draw(chart), path, notes)
