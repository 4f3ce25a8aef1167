"""`lockstep convert`: trained weights from one framework's layout to another's."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockstep.cli.output import print_notes
from lockstep.cli.run_options import add_strict_option
from lockstep.errors import InputError

if TYPE_CHECKING:
    from lockstep.models import Model
    from lockstep.ops import Arrays


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "convert",
        help="write a run's weights as a framework's own layers keep them",
        description="From a run, or from a file of weights with --from and --model. The layouts "
        "are the frameworks' names, and lockstep for the canonical one.",
    )
    parser.add_argument("source", metavar="RUN", help="a run (or last), or a .safetensors file")
    parser.add_argument(
        "--to", required=True, metavar="LAYOUT", help="whose layout to write, e.g. torch"
    )
    parser.add_argument("--out", required=True, metavar="FILE", help="a .safetensors file")
    parser.add_argument("--from", dest="layout", metavar="LAYOUT", help="whose layout a file has")
    parser.add_argument("--model", metavar="RECIPE", help="recipe or TOML file of its model")
    add_strict_option(parser)
    parser.set_defaults(handler=_convert, takes_fields=True)


def _convert(args: argparse.Namespace) -> int:
    from lockstep.training.weights import save_weights

    if Path(args.out).exists():
        raise InputError("out", args.out, "is there already", "Choose another name.")
    weights, model = _from_file(args) if args.layout else _from_run(args)
    path = save_weights(weights, model, args.out, args.to)
    print(f"{path}  {len(weights)} arrays in the layout of {args.to}")
    return 0


def _from_run(args: argparse.Namespace) -> tuple[Arrays, Model]:
    from lockstep.cli.asked_run import dotted_fields
    from lockstep.task import load_encoding, model_of
    from lockstep.training.directory import find
    from lockstep.training.weights import trained

    if Path(args.source).suffix == ".safetensors":
        raise InputError("from", None, "is missing for a file", "Say whose layout: --from torch.")
    for name, value in dotted_fields(args.rest).items():
        problem = "a run's own spec says what its model is"
        raise InputError(name, value, problem, f"Leave --{name} out, or train a run with it.")
    found = trained(args.source, strict=args.strict)
    print_notes(found.notes)
    run = find(args.source)
    return found.weights, model_of(run.spec, load_encoding(run.path))


def _from_file(args: argparse.Namespace) -> tuple[Arrays, Model]:
    from lockstep.cli.asked_run import described, dotted_fields
    from lockstep.task import model_of
    from lockstep.training.weights import load_weights

    if args.model is None:
        raise InputError("model", None, "is missing", "Name a recipe: --model timemachine-gru.")
    model = model_of(described(args.model).with_fields(dotted_fields(args.rest)))
    return load_weights(args.source, model, args.layout), model
