"""A person's own task in the folder of its run, where any process finds it again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import safetensors

from lockstep.array_files import from_file, grouped, to_bytes
from lockstep.errors import InputError, RunDirectoryError
from lockstep.extensions import import_file
from lockstep.files import write_whole
from lockstep.models.structure import digest_of, first_difference
from lockstep.spec import OwnData, OwnModel, RunSpec
from lockstep.spec.data_parts import OWN
from lockstep.task.own_functions import OwnFunction, as_metrics
from lockstep.task.own_task import Own, OwnNet, own_structure

STRUCTURE = "model.txt"


def save_own(folder: Path, mine: Own) -> None:
    """Write the arrays, and what the model is, beside the run."""
    arrays = {f"{s}/{n}": v for s, group in mine.splits.items() for n, v in group.items()}
    arrays |= {f"weights/{n}": v for n, v in mine.net.weights.items()}
    write_whole(folder / "own.safetensors", to_bytes(arrays, {}))
    write_whole(folder / STRUCTURE, "\n".join(mine.structure).encode())


def load_own(folder: Path, spec: RunSpec) -> Own | None:
    """The task that `save_own` wrote, its model found by reference; None for built-in data."""
    if not isinstance(spec.data, OwnData):
        return None
    reference = spec.model.reference if isinstance(spec.model, OwnModel) else ""
    if not reference:
        raise RunDirectoryError(
            f"run = {str(folder)!r}: its model has no file to be found in. "
            "Resume it from Python, giving the task: ls.resume(folder, mine)."
        )
    try:
        groups = grouped(from_file(folder / "own.safetensors")[0])
    except (OSError, ValueError, safetensors.SafetensorError) as error:
        raise RunDirectoryError(
            f"run = {str(folder)!r}: its own.safetensors cannot be read ({error}). "
            "Resume it from Python, giving the task: ls.resume(folder, mine)."
        ) from error
    weights = groups.pop("weights", {})
    return restored(groups, weights, function_at(reference), spec.data, folder)


def restored(
    splits: dict[str, dict[str, Any]],
    weights: dict[str, Any],
    net: Callable[..., Any],
    part: OwnData,
    folder: Path,
) -> Own:
    """The task of these arrays and this net, its own loss and metrics found by reference."""
    functions = {}
    for text in part.functions:
        name, _, reference = text.partition("=")
        if not reference:
            raise RunDirectoryError(
                f"run = {str(folder)!r}: its own {name} has no file to be found in. "
                "Resume it from Python, giving the task: ls.resume(folder, mine)."
            )
        functions[name] = function_at(reference)
    loss = OwnFunction("loss", functions.pop("loss")) if part.loss == OWN else None
    metrics = as_metrics(functions)
    lines = own_structure(net, loss, metrics)
    return Own(splits, OwnNet(net, weights), None, part.loss, lines, loss, metrics)


def check_own(spec: RunSpec, mine: Own | None, folder: Path | None = None) -> None:
    """Refuse a task whose arrays, initial weights or model are not those the spec was made for.

    `folder` is that of the run, which says what its model was. A module's own initial arrays may
    be others: the run has its own in its first checkpoint.
    """
    if mine is None or not isinstance(spec.data, OwnData):
        return
    if mine.digest != spec.data.digest:
        problem = f"is of other arrays or weights than those given ({mine.digest})"
        remedy = "Give the task that the run was made from: mine.run(...)."
        raise InputError("data.digest", spec.data.digest, problem, remedy)
    recorded = spec.model.structure if isinstance(spec.model, OwnModel) else ""
    found = digest_of(mine.structure)
    if recorded and recorded != found:  # runs of version 0.1 did not record it
        file = folder / STRUCTURE if folder else None
        there = file.read_text().splitlines() if file and file.is_file() else []
        named = f": {first_difference(there, mine.structure)}" if there else f" ({found})"
        problem = f"is of another model than the one given{named}"
        remedy = "Give the model that the run was made from, or train a new run."
        raise InputError("model.structure", recorded, problem, remedy)


def function_at(reference: str) -> Callable[..., Any]:
    """What `file.py:name` names."""
    file, _, name = reference.rpartition(":")
    path = Path(file)
    if path.suffix != ".py" or not path.is_file():
        raise InputError("model.reference", reference, "is no Python file", "Check the path.")
    found: Any = import_file(path, f"lockstep_own_{path.stem}")
    for part in name.split("."):
        if not hasattr(found, part):
            raise InputError("model.reference", reference, f"has no {name}", "Check the name.")
        found = getattr(found, part)
    function: Callable[..., Any] = found
    return function
