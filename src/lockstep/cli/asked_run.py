"""The run that a command line asks for: its spec, the weights it starts from, how its processes are
started. `run_options` has the options."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockstep.errors import InputError, unknown
from lockstep.processes import ranks

if TYPE_CHECKING:
    from lockstep.ops import Snapshot
    from lockstep.spec import RunSpec
    from lockstep.training.in_processes import Launch

_PARTS = ("data", "model", "optimizer", "schedule")  # fields with fields of their own


def spec_from(args: argparse.Namespace) -> RunSpec:
    """The spec that a command line describes."""
    asked_fields(args)  # a misspelt option first: its value may be in the recipe's place
    # the recipe's to know: it may choose the model's form by the style, its schedule by the epochs
    known = {name: getattr(args, name, None) for name in ("style", "epochs")}
    spec = described(args.run, **{name: value for name, value in known.items() if value})
    if not hasattr(args, "framework"):  # the command asks for frameworks of its own
        return changed(replace(spec, framework="numpy"), args)
    return with_framework(changed(spec, args), args)


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
    from lockstep.spec import scale_batch

    changes = asked_fields(args)
    if "optimizer" in changes:
        # another kind keeps the clipping and decay that were set
        names = ("clip_norm", "clip_value", "weight_decay")
        common = {name: value for name in names if (value := getattr(spec.optimizer, name))}
        changes["optimizer"] = {"kind": changes["optimizer"], **common}
    spec = spec.with_fields(changes)
    spec = spec if args.lr is None else spec.with_lr(args.lr)
    if getattr(args, "scale_batch", None) is None:
        return spec
    warmup = int(args.scale_warmup) if args.scale_warmup.isdecimal() else args.scale_warmup
    return scale_batch(spec, spec.devices, args.scale_batch, warmup)


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


def with_framework(spec: RunSpec, args: argparse.Namespace) -> RunSpec:
    """The spec with a framework's name; `report_framework` will say so where it was chosen here."""
    from lockstep.frameworks.fastest import resolve_fastest

    chosen = resolve_fastest(spec)
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


def start_from(args: argparse.Namespace, spec: RunSpec) -> Snapshot | None:
    """The state that --start names."""
    from lockstep.ops import Snapshot
    from lockstep.task import model_of
    from lockstep.training.weights import load_weights

    return Snapshot(load_weights(args.start, model_of(spec))) if args.start else None


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
