"""Checkpoints: safetensors with JSON beside the arrays, in the canonical layout.

Written to a temporary name, fsynced and renamed: a checkpoint either is whole or is not there. It
carries a digest of all its bytes, which is verified when it is read (docs/run-folder.md). Nothing
is ever unpickled, and any framework can load any other's.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors

from lockstep.array_files import from_file, grouped, to_bytes
from lockstep.errors import RunDirectoryError
from lockstep.files import remove, write_whole
from lockstep.ops import Snapshot

KEEP = 2  # older ones are removed once a newer is safe
NO_DIGEST = b"0" * 64
# the facts say that there is a digest, so that no damage makes a file look like one without
PROMISE = b"has_digest"


@dataclass(frozen=True)
class Found:
    """The newest whole checkpoint, if any, and what is wrong with newer ones, by their names."""

    path: Path | None = None
    snapshot: Snapshot | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)


def save(folder: Path, step: int, snapshot: Snapshot, facts: dict[str, Any]) -> Path:
    """Write `step-N.safetensors` with what the host must remember in its header.

    Checkpoints of later steps belong to steps that were undone; they are removed first, so that
    none is taken for the newest.
    """
    arrays = {
        f"{group}/{name}": value
        for group in ("weights", "slots", "carry", "best")
        for name, value in getattr(snapshot, group).items()
    }
    path = path_of(folder, step)
    header = json.dumps(facts | {PROMISE.decode(): True})
    content = _signed(to_bytes(arrays, {"lockstep": header, "digest": NO_DIGEST.decode()}))
    others = [old for old in sorted(folder.glob("step-*.safetensors")) if old != path]
    for later in [old for old in others if old > path]:
        remove(later)
    write_whole(path, content)
    for old in [old for old in others if old < path][: 1 - KEEP]:
        remove(old)
    return path


def load(path: Path) -> tuple[Snapshot, dict[str, Any]]:
    """The snapshot and the facts that `save` wrote; one that is damaged is refused."""
    try:
        _verify(path.read_bytes())
        arrays, header = from_file(path)
        facts = json.loads(header["lockstep"])
        facts.pop(PROMISE.decode(), None)
        return Snapshot(**({"weights": {}} | grouped(arrays))), facts
    except (OSError, KeyError, TypeError, ValueError, safetensors.SafetensorError) as error:
        raise RunDirectoryError(
            f"checkpoint = {str(path)!r}: cannot be read ({error}). "
            "Remove it to continue from the one before."
        ) from error


def path_of(folder: Path, step: int) -> Path:
    """Where the checkpoint of a step is kept."""
    return folder / f"step-{step:09d}.safetensors"


def newest(folder: Path) -> Path | None:
    """The checkpoint of the highest step, None where there is none."""
    return max(folder.glob("step-*.safetensors"), default=None)


def newest_whole(folder: Path, *, strict: bool = False) -> Found:
    """The newest checkpoint that is not damaged. With `strict`, or if all of them are, a damaged
    one is an error."""
    damaged: dict[str, str] = {}
    for path in sorted(folder.glob("step-*.safetensors"), reverse=True):
        try:
            return Found(path, *load(path), damaged)
        except RunDirectoryError as error:
            if strict:
                raise
            damaged[path.name] = str(error.__cause__)
    if damaged:
        raise RunDirectoryError(
            f"run = {str(folder.parent)!r}: none of its checkpoints can be read "
            f"({', '.join(damaged)}). Remove them to train it from its start."
        )
    return Found()


def shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """The shape of each of a checkpoint's weights, by name: its arrays are not read."""
    with safetensors.safe_open(path, framework="numpy") as file:
        found = {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118
    return {
        name.removeprefix("weights/"): tuple(shape)
        for name, shape in found.items()
        if name.startswith("weights/")
    }


def damaged(folder: Path) -> list[str]:
    """A line for each checkpoint that cannot be read."""
    lines = []
    for path in sorted(folder.glob("step-*.safetensors")):
        try:
            load(path)
        except RunDirectoryError as error:
            lines.append(f"checkpoint = {str(path)!r}: cannot be read ({error.__cause__})")
    return lines


def _signed(content: bytes) -> bytes:
    """The content with the SHA-256 of itself in the place of its zeros."""
    before, zeros, after = content.partition(NO_DIGEST)
    return before + hashlib.sha256(content).hexdigest().encode() + after if zeros else content


def _verify(content: bytes) -> None:
    """Raise ValueError unless the digest is that of the content. Files of version 0.1 have none."""
    header = content[: 8 + int.from_bytes(content[:8], "little")]
    place = re.search(rb'"digest":"([0-9a-f]{64})"', header)
    if place is None:
        if PROMISE in header or b'"digest"' in header:
            raise ValueError("its digest is damaged")
        return
    unsigned = b"".join([content[: place.start(1)], NO_DIGEST, content[place.end(1) :]])
    if hashlib.sha256(unsigned).hexdigest().encode() != place[1]:
        raise ValueError("its content does not match its digest")
