"""A run in a framework that lives in another interpreter, as if it were in this process.

The worker writes the run's directory; its events come here while it goes on, and what it leaves is
read from the directory when it has ended.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

from lockstep.assemble import assemble
from lockstep.errors import InputError, LockstepError, RunDirectoryError
from lockstep.frameworks import environments
from lockstep.ops import Snapshot
from lockstep.own_task import Own
from lockstep.parallel.children import GRACE, MISTAKES, WorkerError
from lockstep.parallel.ranks import patience
from lockstep.spec import RunSpec
from lockstep.task import Task
from lockstep.training import checkpoints
from lockstep.training.directory import RunDirectory
from lockstep.training.events import Event
from lockstep.training.launch import follow
from lockstep.training.machine import machine_facts
from lockstep.training.own_arrays import check_own
from lockstep.training.own_outputs import check_net
from lockstep.training.result import Result

TIMEOUT = 30 * 24 * 3600.0  # seconds: a run may take days
SILENCE = 3600.0  # seconds without an event: covers the longest compilation
# what there is of a run before its first event
BEGINNINGS = (
    "spec.toml",
    "machine.json",
    "own.safetensors",
    "model.txt",
    "worker.log",
    "steps.bin",
    "lock",
)

Listener = Callable[[Event], None]


def train_elsewhere(
    spec: RunSpec,
    own: Own | None,
    out: str | Path | None,
    listeners: Iterable[Listener],
    event_steps: int,
    start: Snapshot | None,
    num_processes: int,
) -> Result:
    """Carry out a run in the interpreter of its framework."""
    if out is None:
        with tempfile.TemporaryDirectory(prefix="lockstep-") as folder:
            result = train_elsewhere(
                spec, own, folder, listeners, event_steps, start, num_processes
            )
            return replace(result, directory=None)
    python = environments.interpreter(spec.framework)
    task = _task(spec, own)
    if start is not None:  # before the spec, which makes the folder a run
        checkpoints.save(Path(out) / "checkpoints", 0, start, {})
    directory = RunDirectory.create(Path(out), spec, machine_facts(), own)
    began: list[Event] = []
    try:
        hear = [began.append, *listeners]
        return _follow(directory, spec, task, python, hear, event_steps, num_processes)
    except WorkerError as error:
        if error.status in MISTAKES and not began:
            _take_back(directory)
        raise _told(error) from error


def resume_elsewhere(
    directory: RunDirectory,
    own: Own | None,
    spec: RunSpec,
    listeners: Iterable[Listener],
    event_steps: int,
    num_processes: int,
    strict: bool = False,
) -> Result:
    """Go on with a run in the interpreter of its framework."""
    python, task = environments.interpreter(spec.framework), _task(spec, own)
    try:
        return _follow(directory, spec, task, python, listeners, event_steps, num_processes, strict)
    except WorkerError as error:
        raise _told(error) from error


def refuse_callbacks(callbacks: Iterable[object]) -> None:
    """A callback gets the run under way, which another process has."""
    if found := list(callbacks):
        raise InputError(
            "callbacks",
            len(found),
            "the run is carried out by another process, which a callback cannot reach into",
            "Use listeners, which get every event.",
        )


def _task(spec: RunSpec, own: Own | None) -> Task:
    """The task, so that what is wrong with it is told before anything is written or started."""
    if own is not None and (own.native is not None or not own.reference):
        raise InputError(
            "model",
            "own",
            "the run is carried out by another process, which cannot be given the model itself",
            "Define it over Ops with def at the top of a .py file.",
        )
    check_own(spec, own)
    task = assemble(spec, own)
    check_net(task)
    return task


def _follow(
    directory: RunDirectory,
    spec: RunSpec,
    task: Task,
    python: str,
    listeners: Iterable[Listener],
    event_steps: int,
    num_processes: int,
    strict: bool = False,
) -> Result:
    hear = list(listeners)
    events = follow(
        directory.path,
        python=python,
        # the others give up first, and it is told apart who kept them waiting
        silence=SILENCE if num_processes == 1 else 2 * patience() + GRACE,
        timeout=TIMEOUT,
        event_steps=event_steps,
        spec=spec,
        forward_interrupts=True,
        num_processes=num_processes,
        strict=strict,
    )
    with closing(events):
        for event in events:
            for listener in hear:
                listener(event)
    path = checkpoints.newest(directory.checkpoint_folder)
    if path is None:
        raise LockstepError(
            f"run = {str(directory.path)!r}: the worker left no checkpoint. See its worker.log."
        )
    history = directory.history()
    return Result(spec, task, history, checkpoints.load(path)[0], directory.status, directory.path)


def _take_back(directory: RunDirectory) -> None:
    """Remove a run that could not begin: one that is refused in this process leaves nothing."""
    folder = directory.path
    start = directory.checkpoint_folder / "step-000000000.safetensors"
    with suppress(RunDirectoryError), directory.taken():  # unless another process has begun it
        for name in (*BEGINNINGS, start):
            (folder / name).unlink(missing_ok=True)
    for empty in (directory.checkpoint_folder, folder):
        with suppress(OSError):  # what else is in it was there before
            empty.rmdir()


def _told(error: WorkerError) -> LockstepError:
    """What the run would have said in this process, or who came to what end."""
    told = LockstepError(error.message if error.status in MISTAKES else str(error))
    told.exit_code = error.exit_code
    return told
