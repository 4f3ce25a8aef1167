"""`lockstep recipes`: what can be trained by name."""

from __future__ import annotations

import argparse
from typing import Any

from lockstep.cli.output import answer, print_columns


def register(subparsers: Any) -> None:
    parser = subparsers.add_parser("recipes", help="list the recipes, or print one as TOML")
    parser.add_argument("name", nargs="?", metavar="RECIPE", help="print this recipe as TOML")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(handler=_recipes)


def _recipes(args: argparse.Namespace) -> int:
    from lockstep import recipes

    if args.name:
        spec = recipes.get(args.name, framework="fastest")  # as `lockstep train NAME` takes it
        answer(args, spec.to_dict(), lambda: print(spec.to_toml(), end=""))
        return 0
    summaries = {name: recipes.summary(name) for name in recipes.RECIPES}
    answer(args, summaries, lambda: print_columns(summaries.items()))
    return 0
