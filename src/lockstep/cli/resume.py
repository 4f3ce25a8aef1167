"""`lockstep resume`: continue a run where it stopped."""

from __future__ import annotations

import argparse
from typing import Any

from lockstep.cli.run_options import (
    RUN,
    add_field_options,
    add_launch_options,
    add_strict_option,
    changed,
    launch_from,
    with_all_processes,
    with_framework,
)
from lockstep.cli.train import add_outcome_options, progress, report


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "resume",
        help="continue a run where it stopped",
        description="Continues at the exact step of the run's last checkpoint, with what is given "
        "changed: another framework, more devices or epochs.",
        epilog="example: lockstep resume airfoil-linear --framework paddle --epochs 5",
    )
    parser.add_argument("run", metavar="RUN", help=RUN)
    parser.usage = "%(prog)s RUN [options]"
    add_field_options(parser)
    add_strict_option(parser)
    add_launch_options(parser)
    add_outcome_options(parser)
    parser.set_defaults(handler=_resume)


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
    with progress(args) as listeners:
        result = resume(
            directory.path, spec=spec, listeners=listeners, launch=launch, strict=args.strict
        )
    return report(result, args)
