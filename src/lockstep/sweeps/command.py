"""The command that repeats one run alone."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from lockstep import recipes
from lockstep.schedules import format_schedule
from lockstep.spec import OwnData, RunSpec, diff


def train_command(source: str, spec: RunSpec) -> str:
    """`lockstep train` with the options in which the spec differs from a recipe, or a TOML file.

    >>> train_command("airfoil-linear", recipes.airfoil_linear(seed=3, framework="jax"))
    'lockstep train airfoil-linear --framework jax --seed 3'
    """
    base = _base(source, spec)
    if base is None:
        return ""
    changed = dict.fromkeys(name.partition(".")[0] for name, _, _ in diff(base, spec))
    words = ["lockstep", "train", source, "--framework", spec.framework]
    if changed.pop("style", 0) is None:  # the base was made with it
        words += ["--style", spec.style]
    if spec.style != "scratch" and "--style" not in words:
        words += ["--style", spec.style]
    changed.pop("framework", None)
    there, here = base.to_dict(), spec.to_dict()
    for name in changed:
        if name == "schedule":
            words += ["--schedule", format_schedule(spec.schedule)]
        elif isinstance(here[name], dict):
            words += _part_words(name, there[name], here[name])
        else:
            words += [f"--{name.replace('_', '-')}", _text(here[name])]
    return shlex.join(words)


def _base(source: str, spec: RunSpec) -> RunSpec | None:
    if isinstance(spec.data, OwnData):
        return None
    if Path(source).suffix in (".toml", ".json"):
        return RunSpec.from_file(source)
    if source not in recipes.RECIPES:
        return None
    return recipes.get(source, style=spec.style)


def _part_words(name: str, there: dict[str, Any], here: dict[str, Any]) -> list[str]:
    """The fields of a part that differ; all of them after its kind, which starts from defaults."""
    if there["kind"] != here["kind"]:
        there = {}
    changed = [key for key in here if here[key] != there.get(key)]
    return [word for key in changed for word in (f"--{name}.{key}", _text(here[key]))]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(_text, value)) if isinstance(value, list) else str(value)
