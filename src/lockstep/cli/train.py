"""`lockstep train`: carry out a run. `lockstep resume`: continue one where it stopped."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockstep.cli import run_options as options
from lockstep.cli.asked_run import (
    changed,
    launch_from,
    report_framework,
    spec_from,
    start_from,
    with_all_processes,
    with_framework,
)
from lockstep.cli.output import answer
from lockstep.errors import InputError
from lockstep.processes import ranks

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.training import Result
    from lockstep.training.audience import Logger


def register(subparsers: Any) -> None:
    train = subparsers.add_parser(
        "train",
        help="train a recipe or a TOML file",
        description="Carries out a run and keeps everything about it in its folder: what was asked "
        "(spec.toml), what happened (events.jsonl), and checkpoints to resume from.",
        epilog="example: lockstep train airfoil-linear --framework jax --lr 0.1 --epochs 3",
    )
    options.add_run_options(train)
    train.add_argument("--out", metavar="DIR", help="the run's folder (default: below runs/)")
    options.add_start_option(train)
    help = "say what would be done, and about how long it would take; leaves nothing"
    train.add_argument("--dry-run", action="store_true", help=help)
    train.set_defaults(handler=_train)
    resume = subparsers.add_parser(
        "resume",
        help="continue a run where it stopped",
        description="Continues at the exact step of the run's last checkpoint, with what is given "
        "changed: another framework, more devices or epochs.",
        epilog="example: lockstep resume airfoil-linear --framework paddle --epochs 5",
    )
    resume.add_argument("run", metavar="RUN", help=options.RUN)
    resume.usage = "%(prog)s RUN [options]"
    options.add_field_options(resume)
    options.add_strict_option(resume)
    resume.set_defaults(handler=_resume)
    for parser in (train, resume):
        options.add_launch_options(parser)
        parser.add_argument(
            "--log",
            action="append",
            default=[],
            metavar="KIND=PLACE",
            help="log to another tool too: tensorboard=DIR or mlflow=URI; may be repeated",
        )
        parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
        parser.add_argument("--quiet", action="store_true", help="show no progress")


def _train(args: argparse.Namespace) -> int:
    from lockstep.training import train
    from lockstep.training.directory import free_path

    spec = with_all_processes(spec_from(args), args)
    if os.environ.get("TORCHELASTIC_MAX_RESTARTS", "0") != "0" and not args.out:
        problem = "a run that is restarted has to find its folder"
        raise InputError("out", None, problem, "Give --out DIR.")
    out = Path(args.out) if args.out else free_path(spec)
    if args.dry_run:
        return _dry_run(spec, out, args)
    return _carry_out(
        spec, args, lambda **how: train(spec, out=out, start=start_from(args, spec), **how)
    )


def _dry_run(spec: RunSpec, out: Path, args: argparse.Namespace) -> int:
    """What the run would do; it is refused where the run would be."""
    from lockstep.report.dry_run_table import print_dry_run
    from lockstep.training.directory import refuse_taken
    from lockstep.training.dry_run import dry_run

    if ranks.current() is not None or args.launch == "torchrun":
        problem = "the processes of torchrun cannot look at a run for a moment"
        raise InputError("dry_run", True, problem, "Leave torchrun out: use --launch processes.")
    refuse_taken(out, spec)
    found = dry_run(spec, start_from(args, spec), launch_from(args))
    report_framework(args)
    values = {**found.to_dict(), "folder": str(out)}
    answer(args, values, lambda: print_dry_run(found, out))
    return 0


def _resume(args: argparse.Namespace) -> int:
    from lockstep.training import resume
    from lockstep.training.directory import find

    directory = find(args.run)
    spec = with_all_processes(with_framework(changed(directory.spec, args), args), args)
    return _carry_out(
        spec, args, lambda **how: resume(directory.path, spec=spec, strict=args.strict, **how)
    )


def _carry_out(spec: RunSpec, args: argparse.Namespace, run: Callable[..., Result]) -> int:
    """Call `run` with how it is started and who listens, and show its outcome; on a machine that
    only takes part in a run of another, do that."""
    from lockstep.training.in_processes import take_part

    launch = launch_from(args)
    if launch.node_rank:
        take_part(spec, launch)
        return 0
    loggers = _loggers(args.log)
    with _progress(args) as listeners:
        result = run(listeners=[*listeners, *loggers], launch=launch, progress=False)
    return _report(result, args)


def _loggers(asked: list[str]) -> list[Logger]:
    """Those of --log."""
    if not asked:
        return []
    from lockstep.loggers import logger_named

    return [logger_named(text) for text in asked]


@contextmanager
def _progress(args: argparse.Namespace) -> Iterator[list[Callable[[Any], None]]]:
    """The listeners that show how far the run is."""
    from lockstep.report.progress import show_progress

    with show_progress(quiet=args.quiet or args.json or not ranks.is_first()) as listeners:
        # with the first event: an error in the run comes before anything else
        yield [lambda event: report_framework(args), *listeners]


def _report(result: Result, args: argparse.Namespace) -> int:
    """Show the outcome; returns the exit code."""
    from lockstep.report.run_tables import print_result

    if not ranks.is_first():
        return 0
    answer(args, result.to_dict(), lambda: print_result(result))
    if result.status == "interrupted":
        print(f"interrupted; continue with: lockstep resume {result.directory}", file=sys.stderr)
    if ranks.current() is not None:  # its launcher takes any other code for a crash
        return 0
    return {"interrupted": 130, "diverged": 3}.get(result.status, 0)
