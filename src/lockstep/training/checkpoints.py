"""Checkpoints: safetensors with JSON beside the arrays, in the canonical layout.

Written to a temporary name, fsynced and renamed: a checkpoint either is whole or is not there.
Nothing is ever unpickled, and any framework can load any other's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import safetensors

from lockstep.errors import RunDirectoryError
from lockstep.files import write_whole
from lockstep.ops import Snapshot
from lockstep.training.arrays import from_file, grouped, to_bytes

KEEP = 2  # older ones are removed once a newer is safe


def save(folder: Path, step: int, snapshot: Snapshot, facts: dict[str, Any]) -> Path:
    """Write `step-N.safetensors` with what the host must remember in its header.

    Checkpoints of later steps are of a path given up, and go first: none must be taken for it.
    """
    arrays = {
        f"{group}/{name}": value
        for group in ("weights", "slots", "carry")
        for name, value in getattr(snapshot, group).items()
    }
    path = folder / f"step-{step:09d}.safetensors"
    content = to_bytes(arrays, {"lockstep": json.dumps(facts)})
    others = [old for old in sorted(folder.glob("step-*.safetensors")) if old != path]
    for later in [old for old in others if old > path]:
        later.unlink(missing_ok=True)
    write_whole(path, content)
    for old in [old for old in others if old < path][: 1 - KEEP]:
        old.unlink(missing_ok=True)
    return path


def load(path: Path) -> tuple[Snapshot, dict[str, Any]]:
    """The snapshot and the facts that `save` wrote."""
    try:
        arrays, header = from_file(path)
        facts = json.loads(header["lockstep"])
        return Snapshot(**({"weights": {}} | grouped(arrays))), facts
    except (OSError, KeyError, TypeError, ValueError, safetensors.SafetensorError) as error:
        raise RunDirectoryError(
            f"checkpoint = {str(path)!r}: cannot be read ({error}). "
            "Remove it to go on from the one before."
        ) from error


def newest(folder: Path) -> Path | None:
    """The checkpoint of the highest step, None where there is none."""
    return max(folder.glob("step-*.safetensors"), default=None)
