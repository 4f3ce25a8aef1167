"""A run's log: events as lines of JSON, and beside them the file of steps (steps.py).

Both are appended to during the run, and cut back to a checkpoint when it is resumed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lockstep.errors import RunDirectoryError
from lockstep.files import AppendedFile, disk_error, truncate
from lockstep.training.events import (
    CheckpointSaved,
    Event,
    RunCompleted,
    RunDiverged,
    RunInterrupted,
    StepsCompleted,
    from_json,
    to_json,
)
from lockstep.training.steps import StepWriter

ENDINGS = (RunCompleted, RunDiverged, RunInterrupted)


class EventLog:
    """Appends events, each as one whole line; what every step has goes into the file of steps."""

    def __init__(self, log: Path, steps: Path, step: int) -> None:
        self._steps = StepWriter(steps, step)
        self.lost_steps = self._steps.lost
        try:
            self._events = AppendedFile(log)
            with log.open("rb") as file:
                self._digest = hashlib.sha256(file.read(log.stat().st_size))
        except BaseException:
            self._steps.close()
            raise

    def __call__(self, event: Event) -> None:
        if isinstance(event, StepsCompleted):
            self._steps(event)
            return
        line = f"{to_json(event)}\n".encode()
        self._events.write(line)
        self._digest.update(line)
        if isinstance(event, ENDINGS):
            self._events.sync()

    def sync(self) -> dict[str, int | str]:
        """What a checkpoint remembers of the log, which is safe on the disk, as are the steps."""
        self._steps.sync()
        return {"log_size": self._events.sync(), "log_digest": self._digest.hexdigest()}

    def close(self) -> None:
        self._steps.close()
        self._events.close()


def read(log: Path, damage: list[str] | None = None) -> Iterator[Event]:
    """The events of a log; a last line cut off by a kill is left out.

    A line that cannot be read is an error; with `damage` it is left out and described there.
    """
    if not log.exists():
        return
    with log.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                event = _event(line)
            except (ValueError, TypeError, AttributeError, RecursionError) as error:
                problem = f"log = {str(log)!r}: line {number} cannot be read ({_short(error)})"
                if damage is None:
                    raise RunDirectoryError(f"{problem}. Remove it.") from error
                damage.append(f"{problem} and is left out")
                continue
            yield event


def cut(log: Path, facts: Mapping[str, Any]) -> bool:
    """Forget what happened after the checkpoint with these facts: it will happen again. Lines that
    are about the checkpoint itself stay, a torn last line does not.

    Whether the log up to the checkpoint is as it was then."""
    size, step, digest = facts.get("log_size", 0), facts.get("step", 0), facts.get("log_digest")
    try:
        content = log.read_bytes() if log.exists() else b""
    except OSError as error:
        raise disk_error(log, error) from error
    end = content[:size].rfind(b"\n") + 1
    if end == size:
        for line in content[end:].splitlines(keepends=True):
            if not line.endswith(b"\n") or not _is_about(line, step):
                break
            end += len(line)
    if end < len(content):
        truncate(log, end)
    return digest is None or hashlib.sha256(content[:size]).hexdigest() == digest


def _is_about(line: bytes, step: int) -> bool:
    """Whether a line says that the state of `step` was saved, or that the run ended with it."""
    try:
        event = _event(line)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return False
    if isinstance(event, RunDiverged):
        return event.kept == step
    return isinstance(event, CheckpointSaved | RunCompleted | RunInterrupted) and event.step == step


def _event(line: bytes) -> Event:
    return from_json(line.decode("utf-8"))


def _short(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg}"
    return str(error)[:200]
