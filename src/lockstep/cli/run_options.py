"""The options of every command that takes a run: its fields, which are those of RunSpec, the
weights it starts from, and how its processes are started."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import sys
import typing
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockstep.errors import InputError, unknown
from lockstep.processes import ranks

if TYPE_CHECKING:
    from lockstep.ops import Snapshot
    from lockstep.spec import RunSpec
    from lockstep.training.in_processes import Launch

RUN = "a run's folder, its name below runs/, or a unique beginning of that"

_PARTS = ("data", "model", "optimizer", "schedule")  # fields with fields of their own
_LETTERS = {int: "N", float: "X", bool: "YES|NO"}  # what help calls a value of that type


def add_run_options(parser: argparse.ArgumentParser, without: Sequence[str] = ()) -> None:
    """The argument and options of every command that starts from a recipe or a TOML file."""
    help = "a recipe's name (see `lockstep recipes`), or a TOML or JSON file"
    parser.add_argument("run", metavar="RECIPE", help=help)
    parser.usage = "%(prog)s RECIPE [options]"  # all of them would fill a screen
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


def start_from(args: argparse.Namespace, spec: RunSpec) -> Snapshot | None:
    """The state that --start names."""
    from lockstep.ops import Snapshot
    from lockstep.task import model_of
    from lockstep.training.weights import load_weights

    return Snapshot(load_weights(args.start, model_of(spec))) if args.start else None


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
        _add_scaling_options(group)
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


def _add_scaling_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--scale-batch",
        metavar="RULE",
        help="batch_size times devices, and lr by a rule: none, linear or square_root",
    )
    group.add_argument(
        "--scale-warmup",
        metavar="N",
        default="0",
        help="of the scaled rate, in the schedule's unit",
    )


def spec_from(args: argparse.Namespace) -> RunSpec:
    """The spec that a command line describes."""
    asked_fields(args)  # a misspelt option first: its value may stand where the recipe should
    # the style is the recipe's to know: it may choose the model's form by it
    spec = described(args.run, **({"style": args.style} if args.style else {}))
    if not hasattr(args, "framework"):  # the command asks for frameworks of its own
        return changed(replace(spec, framework="numpy"), args)
    return with_framework(changed(spec, args), args)


def with_framework(spec: RunSpec, args: argparse.Namespace) -> RunSpec:
    """The spec with a framework's name; `report_framework` will say so where it was chosen here."""
    from lockstep.frameworks.fastest import settled

    chosen = settled(spec)
    quiet = getattr(args, "quiet", False) or getattr(args, "json", False)
    if chosen != spec and not quiet and ranks.is_first():
        why = f"the fastest here for {spec.model.kind}; choose with --framework"
        args.chosen = f"framework: {chosen.framework} ({why})"
    return chosen


def report_framework(args: argparse.Namespace) -> None:
    """Print which framework was chosen, once it is clear that the run can be carried out."""
    if chosen := getattr(args, "chosen", ""):
        print(chosen, file=sys.stderr, flush=True)
    args.chosen = ""


def described(run: str, **fields: Any) -> RunSpec:
    """The spec of a recipe (with `fields`), or of a TOML or JSON file. Where neither names a
    framework it is the fastest."""
    from lockstep import recipes
    from lockstep.spec import RunSpec, document

    unnamed = {"framework": "fastest"}
    if run in recipes.RECIPES or Path(run).suffix not in (".toml", ".json"):
        return recipes.get(run, **(unnamed | fields))
    return RunSpec.from_dict(unnamed | document.read(Path(run)))


def changed(spec: RunSpec, args: argparse.Namespace) -> RunSpec:
    """The spec with the fields that the command line names."""
    changes = asked_fields(args)
    if "optimizer" in changes:
        # another kind keeps the clipping and decay that were set
        names = ("clip_norm", "clip_value", "weight_decay")
        common = {name: value for name in names if (value := getattr(spec.optimizer, name))}
        changes["optimizer"] = {"kind": changes["optimizer"], **common}
    spec = spec.with_fields(changes)
    spec = spec if args.lr is None else spec.with_lr(args.lr)
    return _scaled(spec, args)


def asked_fields(args: argparse.Namespace) -> dict[str, Any]:
    """The fields that the command line names, by dotted name, with their values as text."""
    from lockstep.spec import RunSpec

    names = [item.name for item in dataclasses.fields(RunSpec)]
    dotted = dotted_fields(args.rest)
    for name in dotted:
        part, dot, rest = name.partition(".")
        if part not in names:
            raise unknown("field", name, [f"{part}.{rest}" for part in _PARTS] if dot else names)
    given = {name: getattr(args, name, None) for name in names}
    given["data.source"] = given.pop("data")
    return {name: value for name, value in given.items() if value is not None} | dotted


def _scaled(spec: RunSpec, args: argparse.Namespace) -> RunSpec:
    from lockstep.spec import scale_batch

    if getattr(args, "scale_batch", None) is None:
        return spec
    warmup = int(args.scale_warmup) if args.scale_warmup.isdecimal() else args.scale_warmup
    return scale_batch(spec, spec.devices, args.scale_batch, warmup)


def dotted_fields(rest: list[str]) -> dict[str, str]:
    """`--a.b value` and `--a.b=value` pairs.

    >>> dotted_fields(["--model.num_hiddens", "64", "--data.order=in_order"])
    {'model.num_hiddens': '64', 'data.order': 'in_order'}
    """
    fields: dict[str, str] = {}
    items = iter(rest)
    for item in items:
        if not item.startswith("--"):
            raise InputError("argument", item, "is not expected", "See `lockstep COMMAND --help`.")
        name, equals, value = item[2:].partition("=")
        if not equals:
            value = next(items, "--")
            if value.startswith("--"):
                raise InputError(f"--{name}", None, "has no value", f"Write --{name} VALUE.")
        fields[name.replace("-", "_")] = value
    return fields


# --- processes ------------------------------------------------------------------------------------


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


def launch_from(args: argparse.Namespace) -> Launch:
    """How the command line asks for the run's processes to be started."""
    from lockstep.training.in_processes import Launch

    return Launch(
        args.launch,
        nodes=args.nodes,
        node_rank=args.node_rank,
        rendezvous=args.rendezvous or "",
        max_restarts=args.max_restarts,
    )


def with_all_processes(spec: RunSpec, args: argparse.Namespace) -> RunSpec:
    """One of several processes trains with all of them, unless asked otherwise."""
    place = ranks.current()
    return spec.with_fields({"devices": place.world_size}) if place and not args.devices else spec
