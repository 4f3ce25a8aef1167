"""`lockstep compare`: one run in several frameworks, or on several numbers of devices, judged
against the oracle."""

from __future__ import annotations

import argparse
import json
from typing import Any

from lockstep.cli.asked_run import launch_from, spec_from, start_from
from lockstep.cli.output import add_open_option, open_page
from lockstep.cli.run_options import add_launch_options, add_run_options, add_start_option
from lockstep.errors import InputError


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "compare",
        help="train a run in several frameworks and prove that they agree",
        description="Each framework runs in its own process, one after another, and every step is "
        "judged against NumPy in float64 on one device. --devices may name several numbers: each "
        "has a row of its own. Exit code 0: they agree, 1: they differ.",
        epilog="example: lockstep compare fashion-lenet --framework torch --devices 1,2,4",
    )
    add_run_options(parser, ["framework"])
    parser.add_argument(
        "--frameworks",
        "--framework",
        metavar="A,B",
        help="numpy,torch,jax or all (default: those installed or with an environment)",
    )
    add_start_option(parser)
    add_launch_options(parser)
    parser.add_argument("--steps", type=int, metavar="N", help="how many steps (default: 200)")
    parser.add_argument(
        "--tolerance",
        type=float,
        metavar="X",
        help="of the loss, relative (default: 1e-9, in float32 1e-4)",
    )
    parser.add_argument(
        "--timeout", type=float, metavar="S", help="seconds for each (default: 1800)"
    )
    parser.add_argument("--out", metavar="DIR", help="folder of the report (default: in reports/)")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    add_open_option(parser)
    parser.set_defaults(handler=_compare)


def _names(text: str | None) -> list[str] | None:
    from lockstep.frameworks import registry

    if text is None:
        return None
    return registry.names() if text == "all" else [name for name in text.split(",") if name]


def _take_counts(args: argparse.Namespace) -> list[int] | None:
    """Several numbers of devices, which are taken out of the run's options; None for one."""
    if not args.devices or "," not in args.devices:
        return None
    from lockstep.report.quantities import parse_device_counts

    if args.scale_batch:
        problem = "would give each number of devices another run"
        raise InputError("scale_batch", args.scale_batch, problem, "Name one number of devices.")
    counts, args.devices = list(parse_device_counts(args.devices)), None
    return counts


def _compare(args: argparse.Namespace) -> int:
    from contextlib import nullcontext

    from lockstep.comparison import ORACLE, TIMEOUT, compare
    from lockstep.report.compare_progress import compare_progress

    counts = _take_counts(args)
    spec = spec_from(args)
    names = _names(args.frameworks)
    if args.timeout is not None and not args.timeout > 0:
        raise InputError("timeout", args.timeout, "must be positive", "Give seconds, such as 600.")
    quiet = args.quiet or args.json
    with nullcontext(False) if quiet else compare_progress([ORACLE]) as progress:
        found = compare(
            spec,
            frameworks=names,
            devices=counts,
            start=start_from(args, spec),
            launch=launch_from(args),
            steps=args.steps,
            tolerance=args.tolerance,
            out=args.out,
            progress=progress,
            timeout=TIMEOUT if args.timeout is None else args.timeout,
        )
    if args.json:
        print(json.dumps(found.to_dict()))
    else:
        found.show()
    open_page(args, found.directory / "report.html")
    return found.exit_code
