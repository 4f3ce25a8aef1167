"""The command line: one file per command group, each with `register(subparsers)`.

Exit codes: 0 done (compare: they agree), 1 they part ways, 2 a mistake in what was asked or
something missing, 3 the loss was no longer finite, 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from lockstep.errors import LockstepError

GROUPS = ("train", "compare", "runs", "recipes", "schedule", "data", "doctor")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; mistakes are told without a traceback."""
    parser = build_parser()
    args, rest = parser.parse_known_args(argv)
    if not hasattr(args, "handler"):
        parser.print_help()
        return 2
    if rest and not getattr(args, "takes_fields", False):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    args.rest = rest
    try:
        code: int = args.handler(args)
    except LockstepError as error:
        print(f"lockstep: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("lockstep: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone; nothing more to say
        return 141
    return code


def build_parser() -> argparse.ArgumentParser:
    """Every command with its options. Imports no framework, no NumPy."""
    parser = argparse.ArgumentParser(
        prog="lockstep",
        description="Train one described run in any deep-learning framework, and prove they agree.",
        epilog="exit codes: 0 done or agreed, 1 parted ways, 2 usage or missing, "
        "3 loss not finite, 130 interrupted",
    )
    from lockstep import __version__

    parser.add_argument("--version", action="version", version=f"lockstep {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND")
    for group in GROUPS:
        importlib.import_module(f"lockstep.cli.{group}").register(subparsers)
    return parser
