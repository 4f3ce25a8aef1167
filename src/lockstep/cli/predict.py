"""`lockstep predict`: what a trained run says of new examples in a file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockstep.cli.output import print_json, print_notes
from lockstep.cli.run_options import RUN, add_strict_option
from lockstep.errors import InputError

if TYPE_CHECKING:
    from lockstep.training.predictions import Predictions


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "predict",
        help="what a trained run says of new examples in a file",
        description="The file is read as the one that the run learned from: its columns by name, "
        "standardised by the same figures. Numbers are in the target's own units; of classes there "
        "is the likeliest and the probability of each; of a text, the probability of each symbol "
        "after those before it, and its perplexity.",
    )
    parser.add_argument("run", metavar="RUN", help=RUN)
    group = parser.add_argument_group("the new examples")
    help = "a table, pictures or a text, as the run's own; targets in it are left alone"
    group.add_argument("--data.file", metavar="FILE", help=help)
    group.add_argument("--data.header", metavar="auto|yes|no", help="of a table, if it is another")
    help = "auto, comma, semicolon, tab or space, if it is another"
    group.add_argument("--data.separator", metavar="NAME", help=help)
    parser.add_argument(
        "--out", metavar="FILE", help=".csv, .npz or .parquet (default: CSV on stdout)"
    )
    parser.add_argument(
        "--framework", default="", metavar="NAME", help="where to compute (default: the run's)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_strict_option(parser)
    parser.set_defaults(handler=_predict, takes_fields=True)


def _predict(args: argparse.Namespace) -> int:
    from lockstep.cli.asked_run import dotted_fields
    from lockstep.training.directory import find
    from lockstep.training.predict import of_run
    from lockstep.training.predictions import check_format, summary
    from lockstep.training.weights import trained

    fields = dict(dotted_fields(args.rest))
    file = fields.pop("data.file", "")
    if not file:
        raise InputError("data.file", None, "is not given", "Give the new examples: --data.file.")
    for name, value in fields.items():
        if not name.startswith("data."):
            problem = "is the run's own, and settled"
            raise InputError(name, value, problem, f"Leave --{name} out.")
    if args.out:
        check_format(Path(args.out))
        if Path(args.out).exists():
            raise InputError("out", args.out, "is there already", "Choose another name.")
    directory = find(args.run)
    found = trained(directory.path, strict=args.strict)
    print_notes(found.notes)
    reading = {name.removeprefix("data."): value for name, value in fields.items()}
    predicted = of_run(directory, found.weights, reading)(Path(str(file)), args.framework)
    if args.out:
        path = predicted.write(args.out)
    if args.json:
        print_json({"run": str(directory.path), "step": found.step, **_told(predicted, args.out)})
    elif args.out:
        print(f"{path}  {len(predicted):,} rows; {_shown(summary(predicted))}")
    else:
        sys.stdout.write(predicted.to_csv())
    return 0


def _told(predicted: Predictions, out: str | None) -> dict[str, Any]:
    """All of it; where a file has the rows, not those."""
    if out is None:
        return predicted.to_dict()
    return {**predicted.about(), "predictions": None, "out": out}


def _shown(values: Mapping[str, float]) -> str:
    """The first of them, in a line.

    >>> _shown({"symbols": 1200000, "perplexity": 2.5})
    'symbols: 1,200,000, perplexity: 2.5'
    """
    first = islice(values.items(), 12)
    return ", ".join(f"{n}: {v:,}" if isinstance(v, int) else f"{n}: {v:.6g}" for n, v in first)
