"""What an interrupted run leaves that was given no folder: one below runs/, to be resumed from.

Its events are gathered while it goes on and written only then; a run that ends by itself leaves
nothing.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

from lockstep.files import DiskError, disk_error
from lockstep.task import Own
from lockstep.training.directory import RunDirectory, free_path
from lockstep.training.events import Event, RemarkMade, StepsCompleted
from lockstep.training.history import History
from lockstep.training.log import EventLog
from lockstep.training.machine import machine_facts
from lockstep.training.result import Result
from lockstep.training.run_state import Training


class Rescue:
    """Listens to a run that has no folder, and gives it one below `root` once it is interrupted."""

    def __init__(self, root: Path, own: Own | None) -> None:
        self._root, self._own = root, own
        self._events: list[Event] = []  # all but those of steps
        self._calls: list[tuple[int, int, int, float]] = []  # step, epoch, how many steps, seconds

    def __call__(self, event: Event) -> None:
        if isinstance(event, StepsCompleted):  # the run's history has their values
            self._calls.append((event.step, event.epoch, len(event.loss), event.seconds))
        else:
            self._events.append(event)

    def folder(
        self, run: Training, history: History
    ) -> tuple[RunDirectory | None, EventLog | None]:
        """A folder with all that has happened, and its log; None, with a remark, where none can be
        written, or none is needed."""
        if not run.interrupted or run.finished:
            return None, None
        try:
            path = free_path(run.spec, self._root)
            directory = RunDirectory.create(path, run.spec, machine_facts(), self._own, run.task)
            log = directory.open_log(0)
            for event in chain(self._events, self._steps(history)):
                log(event)
        except DiskError as error:
            run.emit(RemarkMade(run.step, f"the run could not be kept: {error}"))
            return None, None
        run.listeners = [*run.listeners, log]
        return directory, log

    def _steps(self, history: History) -> Iterator[StepsCompleted]:
        """The events of steps, from the history that took them in."""
        loss, grad_norm, lr, batch = (
            history[:, name] for name in ("loss", "grad_norm", "lr", "batch")
        )
        for step, epoch, count, seconds in self._calls:
            at = slice(step, step + count)
            yield StepsCompleted(step, epoch, loss[at], grad_norm[at], lr[at], seconds, batch[at])


def moved(result: Result, folder: Path, root: Path) -> Result:
    """The same result with its run copied out of a folder that is about to be removed."""
    path = free_path(result.spec, root)
    try:
        shutil.copytree(folder, path)
    except OSError as error:
        raise disk_error(path, error) from error
    return replace(result, directory=path)
