"""`lockstep train` and `lockstep resume`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockstep.cli.launching import add_launch_options, launch_from, with_all_processes
from lockstep.cli.output import print_json
from lockstep.cli.run_options import (
    RUN,
    add_field_options,
    add_run_options,
    add_start_option,
    add_strict_option,
    changed,
    spec_from,
    start_from,
    tell_framework,
    with_framework,
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
    _add_output_options(train)
    train.set_defaults(handler=_train)

    resume = subparsers.add_parser(
        "resume",
        help="continue a run where it stopped",
        description="Continues at the exact step of the run's last checkpoint, with what is given "
        "changed: another framework, more devices or epochs.",
        epilog="example: lockstep resume airfoil-linear --framework paddle --epochs 5",
    )
    resume.add_argument("run", metavar="RUN", help=RUN)
    resume.usage = "%(prog)s RUN [options]"
    add_field_options(resume)
    add_strict_option(resume)
    add_launch_options(resume)
    _add_output_options(resume)
    resume.set_defaults(handler=_resume)


def _add_output_options(parser: argparse.ArgumentParser) -> None:
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
    with _progress(args) as listeners:
        result = train(
            spec, out=out, listeners=listeners, start=start_from(args, spec), launch=launch
        )
    return _report(result, args)


def _resume(args: argparse.Namespace) -> int:
    from lockstep.training import resume
    from lockstep.training.directory import find
    from lockstep.training.in_processes import take_part

    launch = launch_from(args)
    directory = find(args.run)
    spec = with_all_processes(with_framework(changed(directory.spec, args), args), args)
    if launch.node_rank:
        take_part(spec, launch)
        return 0
    with _progress(args) as listeners:
        result = resume(
            directory.path, spec=spec, listeners=listeners, launch=launch, strict=args.strict
        )
    return _report(result, args)


def _require_folder(args: argparse.Namespace) -> None:
    if os.environ.get("TORCHELASTIC_MAX_RESTARTS", "0") != "0" and not args.out:
        problem = "a run that is restarted has to find its folder"
        raise InputError("out", None, problem, "Give --out DIR.")


@contextmanager
def _progress(args: argparse.Namespace) -> Iterator[list[Callable[[Any], None]]]:
    from lockstep.report.terminal import show_progress

    with show_progress(quiet=args.quiet or args.json or not ranks.is_first()) as listeners:
        # with the first event: an error in the run comes before anything else
        yield [lambda event: tell_framework(args), *listeners]


def _report(result: Result, args: argparse.Namespace) -> int:
    from lockstep.report.terminal import print_result

    if not ranks.is_first():
        return 0
    if args.json:
        print_json(result.to_dict())
    else:
        print_result(result)
    if result.status == "interrupted":
        print(f"interrupted; go on with: lockstep resume {result.directory}", file=sys.stderr)
    if ranks.current() is not None:  # its launcher would take any other for a crash
        return 0
    return {"interrupted": 130, "diverged": 3}.get(result.status, 0)
