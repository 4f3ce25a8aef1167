"""`lockstep train`: carry out a run."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockstep.cli.output import print_json
from lockstep.cli.run_options import (
    add_launch_options,
    add_run_options,
    add_start_option,
    launch_from,
    report_framework,
    spec_from,
    start_from,
    with_all_processes,
)
from lockstep.errors import InputError
from lockstep.processes import ranks

if TYPE_CHECKING:
    from lockstep.training import Result


def register(subparsers: Any) -> None:
    train = subparsers.add_parser(
        "train",
        help="train a recipe or a TOML file",
        description="Carries out a run and keeps everything about it in its folder: what was asked "
        "(spec.toml), what happened (events.jsonl), and checkpoints to resume from.",
        epilog="example: lockstep train airfoil-linear --framework jax --lr 0.1 --epochs 3",
    )
    add_run_options(train)
    train.add_argument("--out", metavar="DIR", help="the run's folder (default: below runs/)")
    add_start_option(train)
    add_launch_options(train)
    add_outcome_options(train)
    train.set_defaults(handler=_train)


def add_outcome_options(parser: argparse.ArgumentParser) -> None:
    """What train and resume show."""
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def _train(args: argparse.Namespace) -> int:
    from lockstep.training import train
    from lockstep.training.directory import free_path
    from lockstep.training.in_processes import take_part

    spec, launch = with_all_processes(spec_from(args), args), launch_from(args)
    _require_folder(args)
    out = Path(args.out) if args.out else free_path(spec)
    if launch.node_rank:
        take_part(spec, launch)
        return 0
    with progress(args) as listeners:
        result = train(
            spec, out=out, listeners=listeners, start=start_from(args, spec), launch=launch
        )
    return report(result, args)


def _require_folder(args: argparse.Namespace) -> None:
    if os.environ.get("TORCHELASTIC_MAX_RESTARTS", "0") != "0" and not args.out:
        problem = "a run that is restarted has to find its folder"
        raise InputError("out", None, problem, "Give --out DIR.")


@contextmanager
def progress(args: argparse.Namespace) -> Iterator[list[Callable[[Any], None]]]:
    """The listeners that show how far the run is."""
    from lockstep.report.progress import show_progress

    with show_progress(quiet=args.quiet or args.json or not ranks.is_first()) as listeners:
        # with the first event: an error in the run comes before anything else
        yield [lambda event: report_framework(args), *listeners]


def report(result: Result, args: argparse.Namespace) -> int:
    """Show the outcome; returns the exit code."""
    from lockstep.report.run_tables import print_result

    if not ranks.is_first():
        return 0
    if args.json:
        print_json(result.to_dict())
    else:
        print_result(result)
    if result.status == "interrupted":
        print(f"interrupted; continue with: lockstep resume {result.directory}", file=sys.stderr)
    if ranks.current() is not None:  # its launcher takes any other code for a crash
        return 0
    return {"interrupted": 130, "diverged": 3}.get(result.status, 0)
