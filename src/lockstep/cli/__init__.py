"""The command line: a file for each command, or for two that are much alike, with
`register(subparsers)`.

Exit codes: 0 done (compare: they agree), 1 they differ, 2 a mistake in what was asked or
something missing, 3 the loss was no longer finite, 130 interrupted.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

from lockstep import extensions
from lockstep.cli import completion
from lockstep.cli.parsing import Parser, split_fields, with_hyphens
from lockstep.errors import LockstepError

FILES = (  # in the order of their commands in the help
    "train",
    "compare",
    "sweep",
    "runs",
    "report",
    "export",
    "generate",
    "predict",
    "convert",
    "recipes",
    "schedule",
    "data",
    "env",
    "doctor",
    "devices",
    "experiment",
    "book",
    "completion",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; a mistake is one message, without a traceback."""
    try:
        extensions.load()
    except LockstepError as error:
        return _fail(str(error), error.exit_code)
    parser = build_parser()
    completion.answer_shell(parser)
    given = list(sys.argv[1:] if argv is None else argv)
    for word in given:
        if "\0" in word:  # no file, name or number has one, and Python's functions trip over it
            return _fail(f"argument = {word!r}: has a NUL character. Leave it out.", 2)
    words, fields = split_fields(with_hyphens(given))
    try:
        args, rest = parser.parse_known_args(words)
    except LockstepError as error:
        return _fail(str(error), error.exit_code)
    args.words = given
    args.rest = rest + fields
    if not hasattr(args, "handler"):
        parser.print_help()
        return 2
    if args.rest and not getattr(args, "takes_fields", False):
        parser.error(f"unrecognized arguments: {' '.join(args.rest)}")
    try:
        code: int = args.handler(args)
        sys.stdout.flush()  # a reader that has gone is noticed here, not when Python ends
    except LockstepError as error:
        return _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except BrokenPipeError:
        # nobody reads on: what is still in the buffer goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        return _fail(f"{error}. Check the path, its permissions and the disk.", 2)
    except MemoryError as error:
        return _fail(f"not enough memory ({error}). Give a smaller model or batch_size.", 2)
    return code


def _fail(message: str, code: int) -> int:
    print(f"lockstep: {message}", file=sys.stderr)
    return code


def build_parser() -> Parser:
    """Every command with its options. Imports no framework, no NumPy."""
    parser = Parser(
        prog="lockstep",
        description="Train one described run in any deep-learning framework, and prove they agree.",
        epilog="exit codes: 0 done or agreed, 1 differ, 2 usage or missing, "
        "3 loss not finite, 130 interrupted",
    )
    from lockstep import __version__

    parser.add_argument("--version", action="version", version=f"lockstep {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND")
    for file in FILES:
        importlib.import_module(f"lockstep.cli.{file}").register(subparsers)
    return parser
