"""`lockstep experiment NAME`: several runs and the figure that compares them; `list` names them."""

from __future__ import annotations

import argparse
import importlib
from typing import Any

from lockstep.cli.output import print_json
from lockstep.experiments import EXPERIMENTS, module_name


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser("experiment", help="several runs, and the figure of them")
    commands = parser.add_subparsers(dest="experiment", metavar="NAME", required=True)
    listing = commands.add_parser("list", help="the experiments there are")
    listing.add_argument("--json", action="store_true", help="print JSON")
    listing.set_defaults(handler=_list)
    for name, summary in EXPERIMENTS.items():
        module = importlib.import_module(f"lockstep.cli.experiments.{module_name(name)}")
        module.add_options(commands.add_parser(name, help=summary))


def _list(args: argparse.Namespace) -> int:
    if args.json:
        print_json([{"name": name, "summary": text} for name, text in EXPERIMENTS.items()])
        return 0
    from lockstep.report.tables import console, table

    made = table("experiment", "what it compares", left=("experiment", "what it compares"))
    for name, text in EXPERIMENTS.items():
        made.add_row(name, text)
    console().print(made)
    return 0
