"""`lockstep generate`: continue a text with a trained run."""

from __future__ import annotations

import argparse
from typing import Any

from lockstep.cli.output import print_notes
from lockstep.cli.run_options import RUN, add_strict_option
from lockstep.files import AppendedFile


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser("generate", help="continue a text with a trained run")
    parser.add_argument("run", metavar="RUN", help=RUN)
    parser.add_argument(
        "--prefix",
        default="time traveller",
        metavar="TEXT",
        help="lower-case letters and spaces to continue (default: %(default)s)",
    )
    parser.add_argument(
        "--num", type=int, default=50, metavar="N", help="symbols to add (default: %(default)s)"
    )
    add_strict_option(parser)
    parser.set_defaults(handler=_generate)


def _generate(args: argparse.Namespace) -> int:
    from lockstep.task import assemble
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
