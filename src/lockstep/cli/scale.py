"""`lockstep scale`: the experiment `scaling` by its older name; `lockstep scale horovod` asks the
experiment `horovod`."""

from __future__ import annotations

import argparse
from typing import Any

from lockstep.cli.experiment import add_options, ask
from lockstep.cli.parsing import Parser


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser("scale", help="forecast training on many devices")
    parser.add_later = _add_options


def _add_options(parser: Parser) -> None:
    add_options(parser, "scaling")
    parser.set_defaults(handler=_scale)


def _scale(args: argparse.Namespace) -> int:
    from lockstep import experiments

    name = "horovod" if args.run == "horovod" else "scaling"
    return ask(args, experiments.get(name), "scale")
