"""Checkpoints: safetensors with JSON beside the arrays, in the canonical layout.

Written to a temporary name, fsynced and renamed: a checkpoint either is whole or is not there.
Nothing is ever unpickled, and any framework can load any other's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
from safetensors.numpy import save as to_bytes

from lockstep.errors import RunDirectoryError
from lockstep.files import write_whole
from lockstep.frameworks.protocol import Snapshot

KEEP = 2  # older ones are removed once a newer is safe


def save(folder: Path, step: int, snapshot: Snapshot, facts: dict[str, Any]) -> Path:
    """Write `step-N.safetensors` with what the host must remember in its header."""
    arrays = {
        f"{group}/{name}": np.ascontiguousarray(value)
        for group in ("weights", "slots", "carry")
        for name, value in getattr(snapshot, group).items()
    }
    path = folder / f"step-{step:09d}.safetensors"
    write_whole(path, to_bytes(arrays, metadata={"lockstep": json.dumps(facts)}))
    for old in sorted(folder.glob("step-*.safetensors"))[:-KEEP]:
        if old != path:
            old.unlink(missing_ok=True)
    return path


def load(path: Path) -> tuple[Snapshot, dict[str, Any]]:
    """The snapshot and the facts that `save` wrote."""
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            facts = json.loads((file.metadata() or {})["lockstep"])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, KeyError, ValueError, safetensors.SafetensorError) as error:
        raise RunDirectoryError(
            f"checkpoint = {str(path)!r}: cannot be read ({error}). "
            "Remove it to go on from the one before."
        ) from error
    groups: dict[str, dict[str, np.ndarray]] = {"weights": {}, "slots": {}, "carry": {}}
    for name, value in arrays.items():
        group, _, rest = name.partition("/")
        groups[group][rest] = value
    return Snapshot(**groups), facts


def newest(folder: Path) -> Path | None:
    """The checkpoint of the highest step, None where there is none."""
    return max(folder.glob("step-*.safetensors"), default=None)
