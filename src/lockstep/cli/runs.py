"""`lockstep runs`, `lockstep show` and `lockstep generate`: runs that are there already."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from lockstep.cli.output import print_json, print_notes
from lockstep.cli.run_options import RUN, add_strict_option
from lockstep.errors import LockstepError
from lockstep.files import AppendedFile


def register(subparsers: Any) -> None:
    runs = subparsers.add_parser("runs", help="list the runs below a folder")
    runs.add_argument("--root", default="runs", metavar="DIR", help="the folder (default: runs)")
    runs.add_argument("--json", action="store_true", help="print JSON")
    runs.set_defaults(handler=_runs)

    show = subparsers.add_parser("show", help="what a run was asked, how it went, its curves")
    show.add_argument("run", metavar="RUN", help=RUN)
    show.add_argument("--against", metavar="RUN", help="list the fields in which two specs differ")
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
        blank = {"framework": "", "style": "", "status": "unreadable", "steps": 0, "metrics": {}}
        return {"run": directory.path.name, **blank}


def _outline(directory: Any) -> dict[str, Any]:
    spec = directory.spec
    history = directory.history()
    return {
        "run": directory.path.name,
        "framework": spec.framework,
        "style": spec.style,
        "status": directory.status,
        "steps": len(history),
        "metrics": history.metrics,
        "damage": history.damage,
    }


def _show(args: argparse.Namespace) -> int:
    from lockstep.report import terminal
    from lockstep.spec import diff
    from lockstep.training import checkpoints
    from lockstep.training.directory import find

    directory = find(args.run)
    if args.against:
        rows = diff(directory.spec, find(args.against).spec)
        if args.json:
            print_json([{"field": n, "one": a, "other": b} for n, a, b in rows])
        else:
            terminal.print_diff(rows)
        return 0
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


def _generate(args: argparse.Namespace) -> int:
    from lockstep.assemble import assemble
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
