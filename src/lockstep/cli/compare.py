"""`lockstep compare`: one run in several frameworks, judged against the oracle."""

from __future__ import annotations

import argparse
import json
from typing import Any

from lockstep.cli.run_options import add_run_options, spec_from


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "compare",
        help="train a run in several frameworks and prove that they agree",
        description="Each framework runs in its own process, one after another, and is judged "
        "against NumPy in float64. Exit code 0: they agree, 1: they part ways.",
    )
    add_run_options(parser, ["framework"])
    parser.add_argument(
        "--frameworks",
        metavar="A,B",
        help="numpy,torch,jax or all (default: those installed or with an environment)",
    )
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
    parser.set_defaults(handler=_compare)


def _names(text: str | None) -> list[str] | None:
    from lockstep.frameworks import registry

    if text is None:
        return None
    return registry.names() if text == "all" else [name for name in text.split(",") if name]


def _compare(args: argparse.Namespace) -> int:
    from contextlib import nullcontext

    from lockstep.comparison import ORACLE, TIMEOUT, compare
    from lockstep.errors import InputError
    from lockstep.report.terminal import compare_progress

    spec = spec_from(args)
    names = _names(args.frameworks)
    if args.timeout is not None and not args.timeout > 0:
        raise InputError("timeout", args.timeout, "must be positive", "Give seconds, such as 600.")
    quiet = args.quiet or args.json
    with nullcontext() if quiet else compare_progress([ORACLE]) as progress:
        found = compare(
            spec,
            frameworks=names,
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
    return found.exit_code
