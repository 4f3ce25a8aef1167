"""A run in a framework that lives in another interpreter, as if it were in this process.

The worker writes the run's directory; its events come here while it goes on, and what it leaves is
read from the directory when it has ended.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path

from lockstep.assemble import assemble
from lockstep.errors import InputError, LockstepError
from lockstep.frameworks import environments
from lockstep.frameworks.protocol import Snapshot
from lockstep.own_task import Own
from lockstep.spec import RunSpec
from lockstep.task import Task
from lockstep.training import checkpoints
from lockstep.training.directory import RunDirectory
from lockstep.training.events import Event
from lockstep.training.history import History
from lockstep.training.launch import WorkerError, follow
from lockstep.training.machine import machine_facts
from lockstep.training.own_arrays import check_own
from lockstep.training.result import Result

TIMEOUT = 30 * 24 * 3600.0  # seconds: a run may take days
SILENCE = 3600.0  # seconds without an event: covers the longest compilation

Listener = Callable[[Event], None]


def train_elsewhere(
    spec: RunSpec,
    own: Own | None,
    out: str | Path | None,
    listeners: Iterable[Listener],
    event_steps: int,
    start: Snapshot | None,
) -> Result:
    """Carry out a run in the interpreter of its framework."""
    if out is None:
        with tempfile.TemporaryDirectory(prefix="lockstep-") as folder:
            result = train_elsewhere(spec, own, folder, listeners, event_steps, start)
            return replace(result, directory=None)
    python = environments.interpreter(spec.framework)
    task = _task(spec, own)
    if start is not None:  # before the spec, which makes the folder a run
        checkpoints.save(Path(out) / "checkpoints", 0, start, {})
    directory = RunDirectory.create(Path(out), spec, machine_facts(), own)
    try:
        return _follow(directory, python, task, None, listeners, event_steps)
    except WorkerMistake:
        _take_back(directory)
        raise


def resume_elsewhere(
    directory: RunDirectory,
    own: Own | None,
    spec: RunSpec,
    listeners: Iterable[Listener],
    event_steps: int,
) -> Result:
    """Go on with a run in the interpreter of its framework."""
    python = environments.interpreter(spec.framework)
    return _follow(directory, python, _task(spec, own), spec, listeners, event_steps)


def refuse_callbacks(spec: RunSpec, callbacks: Iterable[object]) -> None:
    """A callback gets the run under way, which another process has."""
    if list(callbacks):
        raise InputError(
            "callbacks",
            spec.framework,
            "is not installed here, and a callback cannot reach into another process",
            "Use listeners, which get every event, or install the framework here.",
        )


def _check_reach(spec: RunSpec, own: Own | None) -> None:
    """A person's own module cannot be handed to another process; a model with a file can."""
    if own is not None and (own.native is not None or not own.reference):
        raise InputError(
            "framework",
            spec.framework,
            "is not installed here, and another process cannot be given the model itself",
            "Define it over Ops with def at the top of a .py file, or install the framework here.",
        )


def _follow(
    directory: RunDirectory,
    python: str,
    own: Own | None,
    listeners: Iterable[Listener],
    event_steps: int,
) -> Result:
    hear = list(listeners)
    events = follow(
        directory.path,
        python=python,
        silence=SILENCE,
        timeout=TIMEOUT,
        event_steps=event_steps,
        forward_interrupts=True,
    )
    try:
        with closing(events):
            for event in events:
                for listener in hear:
                    listener(event)
    except WorkerError as error:
        raise _told(directory, error) from error
    spec = directory.spec
    path = checkpoints.newest(directory.checkpoint_folder)
    if path is None:
        raise LockstepError(f"run = {str(directory.path)!r}: the worker left no checkpoint.")
    task = assemble(spec, own or load_own(directory.path, spec))
    history = History(directory.events())
    snapshot = checkpoints.load(path)[0]
    return Result(spec, task, history, snapshot, directory.status, directory.path)


def _told(directory: RunDirectory, error: WorkerError) -> LockstepError:
    said = "".join(f"\n  {line}" for line in error.log)
    prefix = "" if error.status in ("missing", "failed") else f"{directory.spec.framework}: "
    told = LockstepError(f"{prefix}{error.message}{said}")
    told.exit_code = error.exit_code
    return told
