"""`lockstep runs`: the runs below a folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockstep.cli.output import print_json
from lockstep.errors import LockstepError

if TYPE_CHECKING:
    from lockstep.training.directory import RunDirectory


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser("runs", help="list the runs below a folder")
    parser.add_argument("--root", default="runs", metavar="DIR", help="the folder (default: runs)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(handler=_runs)


def _runs(args: argparse.Namespace) -> int:
    from lockstep.report.run_tables import print_runs
    from lockstep.training.directory import all_runs

    rows = [_row(directory) for directory in all_runs(Path(args.root))]
    if args.json:
        print_json(rows)
    else:
        print_runs(rows, args.root)
    return 0


def _row(directory: RunDirectory) -> dict[str, Any]:
    """A run's outline; one that cannot be read is listed as such and hides no other."""
    try:
        found = outline(directory)
        for line in found.pop("damage"):
            print(f"lockstep: {line}", file=sys.stderr)
        return found
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


def outline(directory: RunDirectory) -> dict[str, Any]:
    """What a list of runs says of one, as plain values."""
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
