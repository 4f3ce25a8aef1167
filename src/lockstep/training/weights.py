"""Trained weights in files, under the names and shapes of any framework's own layers.

A file is safetensors; no framework is imported. The canonical layout goes by the name `lockstep`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import safetensors

from lockstep.array_files import from_file, to_bytes
from lockstep.errors import InputError, RunDirectoryError
from lockstep.files import write_whole
from lockstep.frameworks import registry
from lockstep.frameworks.layout import Layout
from lockstep.models import Model
from lockstep.ops import Arrays
from lockstep.training import checkpoints
from lockstep.training.directory import find

CANONICAL = "lockstep"
# what to do about a GRU that resets before the product, in a framework whose layer does not
SAVED = (
    "Write the layout of tensorflow, jax or lockstep (--to lockstep), "
    "or train with --model.reset after and convert that run."
)
LOADED = "Give --model.reset after: the GRU of such a file resets after the product."


@dataclass(frozen=True)
class Trained:
    """A run's weights, canonical, and how far they were trained."""

    weights: Arrays
    step: int
    notes: tuple[str, ...]  # what a person should know who takes them for the run's result


def trained(run: str | Path, *, strict: bool = False) -> Trained:
    """The weights of a run's newest whole checkpoint, with patience the best that it has; those a
    run began with are refused.

    With `strict`, so is a run whose newest checkpoint is damaged.
    """
    directory = find(run)
    found = checkpoints.newest_whole(directory.checkpoint_folder, strict=strict)
    step = found.facts.get("step", 0)
    if found.snapshot is None or not step:
        what = (
            "has no checkpoint yet"
            if found.snapshot is None
            else ("has only the weights it began with, untrained")
        )
        raise RunDirectoryError(
            f"run = {str(directory.path)!r}: {what}. Train it first: "
            f"lockstep resume {directory.path}"
        )
    notes = [f"{name} is damaged ({problem})" for name, problem in found.damaged.items()]
    status, best = directory.status, found.facts.get("best", {})
    if found.snapshot.best:
        what = f"the best of {step:,} steps by {best['watch']}"
        notes.append(f"{what}: these are the weights after {best['step']:,}")
        step = best["step"]
    if status != "completed":
        notes.append(f"the run is {status}: these are its weights after {step:,} steps")
    return Trained(found.snapshot.best or found.snapshot.weights, step, tuple(notes))


def save_weights(weights: Arrays, model: Model, path: str | Path, layout: str = CANONICAL) -> Path:
    """Write canonical weights to `path` in the layout of a framework."""
    facts = {"layout": layout, "model": type(model).__name__}
    content = to_bytes(
        _layout(layout, model, SAVED).to_native(weights), {"lockstep": json.dumps(facts)}
    )
    return write_whole(Path(path), content)


def load_weights(path: str | Path, model: Model, layout: str = CANONICAL) -> Arrays:
    """The canonical weights of `model` from a file in the layout of a framework."""
    if Path(path).exists() and not Path(path).is_file():  # a pipe might never end
        raise InputError("file", str(path), "is not a file", "Give a .safetensors file.")
    try:
        arrays, _ = from_file(Path(path))
    except (OSError, ValueError, safetensors.SafetensorError) as error:
        problem = f"cannot be read as safetensors ({error})"
        raise InputError("file", str(path), problem, "Check the path and the format.") from error
    shapes = {n: w.shape for n, w in model.initial_weights(0).items()}
    way = _layout(layout, model, LOADED)
    native = {n: w.shape for n, w in way.to_native(model.initial_weights(0)).items()}
    for name in dict.fromkeys([*native, *arrays]):
        wanted = native.get(name, "no such array")
        given = arrays[name].shape if name in arrays else "missing"
        if wanted != given:
            remedy = "Name the model it was made with, and its layout with --from."
            raise InputError(name, given, f"in {layout} layout the model has {wanted}", remedy)
    canonical = way.from_native(arrays)
    return {name: canonical[name] for name in shapes}  # in the model's order


def _layout(name: str, model: Model, reset_remedy: str) -> Layout:
    """The layout of that name; `reset_remedy` is what to do about a GRU that the framework's layer
    cannot be."""
    if name == CANONICAL:
        return Layout()
    try:
        return registry.layout(name, model)
    except InputError as error:  # its remedy is for training, not for files
        remedy = reset_remedy if error.field == "model.reset" else "Use the layout lockstep."
        raise InputError(error.field, error.value, error.problem, remedy) from error
