"""`lockstep runs`, `lockstep show` and `lockstep generate`: runs that are there already."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockstep.cli.option_values import check_figure
from lockstep.cli.output import print_json, print_notes
from lockstep.cli.run_options import RUN, add_strict_option
from lockstep.errors import InputError, LockstepError
from lockstep.files import AppendedFile

if TYPE_CHECKING:
    from lockstep.training.directory import RunDirectory


def register(subparsers: Any) -> None:
    runs = subparsers.add_parser("runs", help="list the runs below a folder")
    runs.add_argument("--root", default="runs", metavar="DIR", help="the folder (default: runs)")
    runs.add_argument("--json", action="store_true", help="print JSON")
    runs.set_defaults(handler=_runs)

    show = subparsers.add_parser("show", help="what a run was asked, how it went, its curves")
    show.add_argument("run", metavar="RUN", help=RUN)
    show.add_argument(
        "--against", metavar="RUN", help="what differs from another run; --figure draws both"
    )
    show.add_argument("--report", action="store_true", help="write RUN/report.html")
    show.add_argument(
        "--figure",
        metavar="FILE",
        nargs="?",
        const="",
        help="write the curves as PNG or SVG (default: RUN/figures/curves.svg)",
    )
    show.add_argument("--json", action="store_true", help="print JSON")
    show.set_defaults(handler=_show)

    generate = subparsers.add_parser("generate", help="continue a text with a trained run")
    generate.add_argument("run", metavar="RUN", help=RUN)
    generate.add_argument(
        "--prefix",
        default="time traveller",
        metavar="TEXT",
        help="lower-case letters and spaces to go on from (default: %(default)s)",
    )
    generate.add_argument(
        "--num", type=int, default=50, metavar="N", help="symbols to add (default: %(default)s)"
    )
    add_strict_option(generate)
    generate.set_defaults(handler=_generate)


def _runs(args: argparse.Namespace) -> int:
    from lockstep.report.terminal import print_runs
    from lockstep.training.directory import all_runs

    rows = [_row(directory) for directory in all_runs(Path(args.root))]
    if args.json:
        print_json(rows)
    else:
        print_runs(rows, args.root)
    return 0


def _row(directory: Any) -> dict[str, Any]:
    """A run's outline; one that cannot be read is listed as such and hides no other."""
    try:
        outline = _outline(directory)
        for line in outline.pop("damage"):
            print(f"lockstep: {line}", file=sys.stderr)
        return outline
    except LockstepError as error:
        print(f"lockstep: {error}", file=sys.stderr)
        blank = {
            "framework": "",
            "frameworks": [],
            "style": "",
            "status": "unreadable",
            "steps": 0,
            "metrics": {},
            "last_batch_loss": None,
            "remarks": [],
        }
        return {"run": directory.path.name, **blank}


def _outline(directory: Any) -> dict[str, Any]:
    spec = directory.spec
    history = directory.history()
    return {
        "run": directory.path.name,
        "framework": spec.framework,
        "frameworks": [[name, step] for name, step in history.frameworks],
        "style": spec.style,
        "status": directory.status,
        "steps": len(history),
        "metrics": history.metrics,
        "last_batch_loss": history.metrics.get("loss"),
        "remarks": history.remarks,
        "damage": history.damage,
    }


def _show(args: argparse.Namespace) -> int:
    from lockstep.report import terminal
    from lockstep.training import checkpoints
    from lockstep.training.directory import find

    if args.figure:
        check_figure(args.figure)
    directory = find(args.run)
    if args.against:
        return _show_two(args, directory, find(args.against))
    history = directory.history()
    history.damage += checkpoints.damaged(directory.checkpoint_folder)
    notes = sys.stderr if args.json else sys.stdout  # JSON stands alone
    if args.json:
        outline = _outline(directory) | {"damage": history.damage}
        print_json(outline | {"spec": directory.spec.to_dict()})
    else:
        terminal.print_run(directory, history)
    if args.figure is not None:
        from lockstep.report.figures import run_figure, save_figure

        path = Path(args.figure or directory.path / "figures" / "curves.svg")
        save_figure(run_figure(history, title=directory.path.name), path)
        print(f"figure: {path}", file=notes)
    if args.report:
        from lockstep.report.page import write_run_page

        print(f"report: {write_run_page(directory, history)}", file=notes)
    return 0


def _show_two(args: argparse.Namespace, one: RunDirectory, other: RunDirectory) -> int:
    """The fields in which two runs differ and, if asked, their curves in one figure."""
    from lockstep.report import terminal
    from lockstep.spec import diff

    if args.report:
        problem = "a page is of one run, and --against names a second"
        raise InputError("report", True, problem, "Leave one of them out, or use --figure.")
    rows = diff(one.spec, other.spec)
    if args.json:
        print_json([{"field": n, "one": a, "other": b} for n, a, b in rows])
    else:
        terminal.print_diff(rows)
    if args.figure is not None:
        from lockstep.report.figures import against_figure, save_figure

        named = {run.path.resolve(): run for run in (one, other)}
        names = {path.name: run for path, run in named.items()}
        labels = names if len(names) == len(named) else {str(p): run for p, run in named.items()}
        histories = {label: run.history() for label, run in labels.items()}
        file = Path(
            args.figure or one.path / "figures" / f"against-{other.path.resolve().name}.svg"
        )
        save_figure(against_figure(histories, " against ".join(labels)), file)
        print(f"figure: {file}", file=sys.stderr if args.json else sys.stdout)
    return 0


def _generate(args: argparse.Namespace) -> int:
    from lockstep.task import assemble
    from lockstep.training.directory import find
    from lockstep.training.generate import generate
    from lockstep.training.weights import trained

    directory = find(args.run)
    found = trained(directory.path, strict=args.strict)
    print_notes(found.notes)
    text = generate(assemble(directory.spec), found.weights, args.prefix, args.num)
    kept = AppendedFile(directory.path / "generated.txt")
    try:
        kept.write(f"{text}\n".encode())
    finally:
        kept.close()
    print(text)
    return 0
