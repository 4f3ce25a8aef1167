"""The options that describe a run, shared by the commands that take one."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockstep.errors import InputError

if TYPE_CHECKING:
    from lockstep.spec import RunSpec

RUN = "a run's folder, its name below runs/, or a unique beginning of that"

# option -> field of the spec, for options that set one field
_FIELDS = {
    "framework": "framework",
    "devices": "devices",
    "style": "style",
    "batch_size": "batch_size",
    "epochs": "epochs",
    "max_steps": "max_steps",
    "schedule": "schedule",
    "schedule_per": "schedule_per",
    "optimizer": "optimizer",
    "seed": "seed",
    "precision": "precision",
    "data": "data.source",
}


def add_run_options(
    parser: argparse.ArgumentParser, *, framework: bool = True, devices: bool = True
) -> None:
    """The argument and options of every command that starts from a recipe or a TOML file."""
    help = "a recipe's name (see `lockstep recipes`), or a TOML or JSON file"
    parser.add_argument("run", metavar="RECIPE", help=help)
    add_field_options(parser, framework=framework, devices=devices)


def add_strict_option(parser: argparse.ArgumentParser) -> None:
    """What to do about a damaged checkpoint."""
    parser.add_argument(
        "--strict",
        action="store_true",
        help="refuse a damaged checkpoint (default: the one before)",
    )


def add_field_options(
    parser: argparse.ArgumentParser, *, framework: bool = True, devices: bool = True
) -> None:
    """Options for the fields of a run's spec."""
    group = parser.add_argument_group(
        "the run", "Any other field of the spec by its dotted name: --model.num_hiddens 128"
    )
    if framework:
        group.add_argument(
            "--framework", metavar="NAME", help="numpy, torch, jax ... (see `lockstep env list`)"
        )
    if devices:
        _add_device_options(group)
    group.add_argument(
        "--style",
        metavar="STYLE",
        help="scratch: models written once for all; concise: the framework's own layers",
    )
    group.add_argument("--batch-size", metavar="N", help="examples of an update, on all devices")
    group.add_argument("--epochs", metavar="N", help="passes over the data")
    group.add_argument("--max-steps", metavar="N", help="stop after so many updates")
    group.add_argument("--lr", type=float, metavar="X", help="base learning rate of the schedule")
    group.add_argument(
        "--schedule",
        metavar="TEXT",
        help='e.g. "cosine(0.3, steps=20)" (see `lockstep schedule --list`)',
    )
    group.add_argument("--schedule-per", metavar="UNIT", help="what it counts: step or epoch")
    group.add_argument("--optimizer", metavar="NAME", help="sgd, momentum, adam ...")
    group.add_argument("--seed", metavar="N", help="of initial weights and batch order")
    group.add_argument("--precision", metavar="P", help="float32 or float64")
    group.add_argument("--data", metavar="SOURCE", help="real, or generated on the spot")
    parser.set_defaults(takes_fields=True)


def _add_device_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--devices", metavar="N", help="how many share every batch")
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
    # the style is the recipe's to know: it may choose the model's form by it
    return changed(described(args.run, **({"style": args.style} if args.style else {})), args)


def described(run: str, **fields: Any) -> RunSpec:
    """The spec of a recipe (with `fields`), or of a TOML or JSON file."""
    from lockstep import recipes
    from lockstep.spec import RunSpec

    if run in recipes.RECIPES or Path(run).suffix not in (".toml", ".json"):
        return recipes.get(run, **fields)
    return RunSpec.from_file(run)


def changed(spec: RunSpec, args: argparse.Namespace) -> RunSpec:
    """The spec with the fields that the command line names."""
    changes: dict[str, Any] = {
        field: getattr(args, option)
        for option, field in _FIELDS.items()
        if getattr(args, option, None) is not None
    }
    changes |= dotted_fields(args.rest)
    if "optimizer" in changes:
        # another kind keeps the clipping and decay that were set
        names = ("clip_norm", "clip_value", "weight_decay")
        common = {name: value for name in names if (value := getattr(spec.optimizer, name))}
        changes["optimizer"] = {"kind": changes["optimizer"], **common}
    spec = spec.with_fields(changes)
    spec = spec if args.lr is None else spec.with_lr(args.lr)
    return _scaled(spec, args)


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
