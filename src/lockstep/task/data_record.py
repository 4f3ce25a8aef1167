"""What a run keeps of the file it learns from, in its folder's `data.json`: where it lay, its
digest and its encoding. With it a changed file is refused, and new examples are read as the old."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lockstep.data.encoding import Encoding
from lockstep.errors import RunDirectoryError
from lockstep.files import write_whole
from lockstep.task.task import Task

RECORD = "data.json"


def save_data_record(folder: Path, task: Task) -> None:
    """Write the record beside the run; one whose data is no file has none."""
    if task.encoding is not None:
        record = {**task.facts, "encoding": task.encoding.to_dict()}
        write_whole(folder / RECORD, json.dumps(record, indent=1, ensure_ascii=False).encode())


def load_encoding(folder: Path) -> Encoding | None:
    """The encoding of the training part; None where the run's data is no file."""
    record = _record(folder)
    try:
        return Encoding.from_dict(record["encoding"]) if record else None
    except (KeyError, TypeError) as error:
        raise _damaged(folder, error) from error


def refuse_other_file(folder: Path, task: Task) -> None:
    """Raise if the file that `task` was read from is not the one that the run began with."""
    record = _record(folder)
    if record is None or task.encoding is None:
        return
    there, here = record.get("digest"), task.facts.get("digest")
    if there != here:
        raise RunDirectoryError(
            f"run = {str(folder)!r}: its file {task.facts.get('place')} has changed: {there} when "
            f"the run began, {here} now. Give the file as it was with --data.file, or train a new "
            "run."
        )


def _record(folder: Path) -> dict[str, Any] | None:
    path = folder / RECORD
    if not path.is_file():
        return None
    try:
        record = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(folder, error) from error
    if not isinstance(record, dict):
        raise _damaged(folder, "no table")
    return record


def _damaged(folder: Path, error: object) -> RunDirectoryError:
    return RunDirectoryError(
        f"run = {str(folder)!r}: its {RECORD} cannot be read ({error}). "
        "Train a new run, or bring the file back."
    )
