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
        metavar="TEXT",
        help="what to continue, in characters of the text it was trained on "
        "(default: time traveller, or its most frequent character)",
    )
    parser.add_argument(
        "--num", type=int, default=50, metavar="N", help="symbols to add (default: %(default)s)"
    )
    add_strict_option(parser)
    parser.set_defaults(handler=_generate)


def _generate(args: argparse.Namespace) -> int:
    from lockstep.training.directory import find
    from lockstep.training.generate import continued, language_of, usual_prefix
    from lockstep.training.weights import trained

    directory = find(args.run)
    found = trained(directory.path, strict=args.strict)
    print_notes(found.notes)
    model, vocabulary = language_of(directory)
    prefix = usual_prefix(vocabulary) if args.prefix is None else args.prefix
    text = continued(model, vocabulary, found.weights, prefix, args.num)
    kept = AppendedFile(directory.path / "generated.txt")
    try:
        kept.write(f"{text}\n".encode())
    finally:
        kept.close()
    print(text)
    return 0
