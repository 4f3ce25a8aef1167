"""`lockstep train` and `lockstep resume`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockstep.cli.output import print_json
from lockstep.cli.run_options import add_run_options, changed, spec_from

if TYPE_CHECKING:
    from lockstep.training import Result


def register(subparsers: Any) -> None:
    train = subparsers.add_parser("train", help="train a recipe or a TOML file")
    add_run_options(train)
    train.add_argument("--out", metavar="DIR", help="the run's folder (default: below runs/)")
    train.add_argument("--start", metavar="FILE", help="weights to start from (see convert)")
    _add_output_options(train)
    train.set_defaults(handler=_train)

    resume = subparsers.add_parser("resume", help="go on with a run where it stopped")
    add_run_options(resume)
    _add_output_options(resume)
    resume.set_defaults(handler=_resume)


def _add_output_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def _train(args: argparse.Namespace) -> int:
    from lockstep.assemble import model_of
    from lockstep.frameworks.protocol import Snapshot
    from lockstep.training import train
    from lockstep.training.directory import free_path
    from lockstep.training.weights import load_weights

    spec = spec_from(args)
    out = Path(args.out) if args.out else free_path(spec)
    start = Snapshot(load_weights(args.start, model_of(spec))) if args.start else None
    with _progress(args) as listeners:
        result = train(spec, out=out, listeners=listeners, start=start)
    return _tell(result, args)


def _resume(args: argparse.Namespace) -> int:
    from lockstep.training import resume
    from lockstep.training.directory import find

    directory = find(args.run)
    spec = changed(directory.spec, args)
    with _progress(args) as listeners:
        result = resume(directory.path, spec=spec, listeners=listeners)
    return _tell(result, args)


def _progress(args: argparse.Namespace) -> Any:
    from lockstep.report.terminal import show_progress

    return show_progress(quiet=args.quiet or args.json)


def _tell(result: Result, args: argparse.Namespace) -> int:
    from lockstep.report.terminal import print_result

    if args.json:
        print_json(result.to_dict())
    else:
        print_result(result)
    if result.status == "interrupted":
        print(f"interrupted; go on with: lockstep resume {result.directory}", file=sys.stderr)
    return {"interrupted": 130, "diverged": 3}.get(result.status, 0)
