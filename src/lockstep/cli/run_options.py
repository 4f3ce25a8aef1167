"""The options of every command that takes a run: its fields, which are those of RunSpec, the
weights it starts from, and how its processes are started. `asked_run` reads them."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import typing
from collections.abc import Sequence

RUN = "a run's folder, its name below runs/, a unique beginning of that, or last: the newest"

_LETTERS = {int: "N", float: "X", bool: "YES|NO"}  # what help calls a value of that type


def add_run_options(
    parser: argparse.ArgumentParser, without: Sequence[str] = (), default: str = ""
) -> None:
    """The argument and options of every command that starts from a recipe or a TOML file. With a
    `default`, a recipe need not be named."""
    help = "a recipe's name (see `lockstep recipes`), or a TOML or JSON file"
    if default:
        help = f"{help} (default: {default})"
        parser.add_argument("run", metavar="RECIPE", nargs="?", default=default, help=help)
    else:
        parser.add_argument("run", metavar="RECIPE", help=help)
    usage = "%(prog)s [RECIPE] [options]" if default else "%(prog)s RECIPE [options]"
    parser.usage = usage  # all of them would fill a screen
    add_field_options(parser, without)


def add_strict_option(parser: argparse.ArgumentParser) -> None:
    """What to do about a damaged checkpoint."""
    parser.add_argument(
        "--strict",
        action="store_true",
        help="refuse a damaged checkpoint (default: the one before)",
    )


def add_start_option(parser: argparse.ArgumentParser) -> None:
    """Weights in place of those drawn from the seed."""
    parser.add_argument("--start", metavar="FILE", help="weights to start from (see convert)")


def add_field_options(parser: argparse.ArgumentParser, without: Sequence[str] = ()) -> None:
    """Options for the fields of a run's spec, but those `without`, which the command has itself."""
    from lockstep.spec import RunSpec

    group = parser.add_argument_group("the run", "Each field of the run that is to be changed.")
    hints = typing.get_type_hints(RunSpec)
    for item in dataclasses.fields(RunSpec):
        if item.name in without:
            continue
        name = f"--{item.name.replace('_', '-')}"
        letters = _LETTERS.get(hints[item.name], "TEXT")
        action = group.add_argument(name, metavar=letters, help=item.metadata["help"])
        action.rare = item.metadata["rare"]  # type: ignore[attr-defined]
    group.add_argument("--lr", type=float, metavar="X", help="base learning rate of the schedule")
    if "devices" not in without:
        group.add_argument(
            "--scale-batch",
            metavar="RULE",
            help="batch_size times devices, and lr by a rule: none, linear or square_root",
        )
        help = "of the scaled rate, in the schedule's unit"
        group.add_argument("--scale-warmup", metavar="N", default="0", help=help)
    _add_part_fields(parser)
    parser.set_defaults(takes_fields=True)


def _add_part_fields(parser: argparse.ArgumentParser) -> None:
    """The fields of the run's parts, for the help: split_fields has taken them out before the
    parser looks, for those of a schedule within a schedule have names without end."""
    group = parser.add_argument_group(
        "fields of its parts",
        "By dotted name; in brackets the kinds that have them. Those of a schedule likewise: "
        "--schedule.base 0.1 (see `lockstep schedule --list`).",
    )
    for name, (letters, kinds) in _part_fields().items():
        if not name.startswith("schedule."):
            has = kinds if name.endswith(".kind") else [f"({', '.join(kinds)})"]
            group.add_argument(f"--{name}", metavar=letters, help=", ".join(has))


@functools.cache
def _part_fields() -> dict[str, tuple[str, list[str]]]:
    """Dotted name -> what its value looks like, and the kinds of the part that have it."""
    from lockstep.schedules import KINDS
    from lockstep.spec.convert import PARTS

    found: dict[str, tuple[str, list[str]]] = {}
    for part, kinds in {**PARTS, "schedule": KINDS}.items():
        known = {kind: cls for kind, cls in kinds.items() if kind != "own"}  # from Python only
        found[f"{part}.kind"] = ("NAME", list(known))
        for kind, cls in known.items():
            for item in dataclasses.fields(cls):
                letters = {"int": "N", "float": "X", "bool": "YES|NO"}.get(str(item.type), "TEXT")
                found.setdefault(f"{part}.{item.name}", (letters, []))[1].append(kind)
        for name, (letters, having) in found.items():
            if name.startswith(f"{part}.") and len(having) == len(known) > 1:
                found[name] = (letters, having if name.endswith(".kind") else ["every kind"])
    return found


def add_launch_options(parser: argparse.ArgumentParser) -> None:
    """Options for a run on several devices that are processes."""
    group = parser.add_argument_group("several processes")
    group.add_argument(
        "--launch",
        choices=("auto", "processes", "torchrun"),
        default="auto",
        help="auto: processes where a framework needs them; processes: one for each device; "
        "torchrun: the same by torch's own launcher",
    )
    group.add_argument(
        "--nodes", type=int, default=1, metavar="N", help="torchrun: how many machines"
    )
    group.add_argument(
        "--node-rank", type=int, default=0, metavar="I", help="torchrun: which one this is, from 0"
    )
    group.add_argument("--rendezvous", metavar="HOST:PORT", help="torchrun: where they meet")
    group.add_argument(
        "--max-restarts",
        type=int,
        default=0,
        metavar="N",
        help="torchrun: how often to continue from the last checkpoint when a process is lost",
    )
