"""One framework's part in a comparison: a run in its own process, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockstep.errors import MissingError, RunDirectoryError
from lockstep.frameworks import environments
from lockstep.ops import Arrays
from lockstep.parallel.children import WorkerError
from lockstep.spec import RunSpec
from lockstep.training import checkpoints
from lockstep.training.directory import RunDirectory
from lockstep.training.events import (
    CheckpointSaved,
    Event,
    RunCompleted,
    RunDiverged,
    RunInterrupted,
)
from lockstep.training.history import History
from lockstep.training.launch import follow
from lockstep.training.machine import machine_facts

if TYPE_CHECKING:
    from lockstep.own_task import Own

SILENCE = 300.0  # seconds: covers the longest compilation and evaluation seen
Progress = Callable[[str, Event | str], None]  # row's label, and an event or a status


@dataclass
class Outcome:
    """What a worker told: where it began, its history, its end."""

    spec: RunSpec
    directory: Path
    history: History = field(default_factory=History)
    status: str = "crashed"
    problem: str = ""
    log: tuple[str, ...] = ()
    diverged_at: int | None = None
    initial: Arrays = field(default_factory=dict)
    exit_code: int = 0

    def __call__(self, event: Event) -> None:
        self.history(event)
        if isinstance(event, CheckpointSaved) and event.step == 0:
            # at once: it gives way to later ones
            self.initial = checkpoints.load(self.directory / "checkpoints" / event.path)[0].weights
        elif isinstance(event, RunCompleted):
            self.status = "completed"
        elif isinstance(event, RunInterrupted):
            self.status, self.problem = "interrupted", f"stopped by hand at step {event.step}"
        elif isinstance(event, RunDiverged):
            self.status, self.diverged_at = "diverged", event.step
            self.problem = f"the loss of step {event.step} was {event.loss}, with lr {event.lr:g}"

    @property
    def ended(self) -> bool:
        """Whether the run came to its own end, so that its path can be judged."""
        return self.status in ("completed", "diverged")

    @property
    def num_steps(self) -> int:
        """How many steps had a finite loss; a diverged call's last ones were not recorded."""
        return len(self.history) if self.diverged_at is None else self.diverged_at

    @property
    def weights(self) -> Arrays:
        """The weights at the end, from the run's last checkpoint."""
        path = checkpoints.newest(self.directory / "checkpoints")
        return checkpoints.load(path)[0].weights if path else {}

    @property
    def facts(self) -> Mapping[str, Any]:
        """Machine and versions, as the worker saw them."""
        return RunDirectory(self.directory).machine


def run_worker(
    spec: RunSpec,
    own: Own | None,
    directory: Path,
    *,
    timeout: float,
    label: str,
    progress: Progress | None = None,
    python: str | None = None,
) -> Outcome:
    """Carry out `spec` in a process of its own; a failure is an outcome, not an exception.

    `python` is the interpreter, the framework's own unless given."""
    tell = progress or (lambda name, event: None)
    outcome = Outcome(spec, directory)
    tell(label, "starting")
    RunDirectory.create(directory, spec, machine_facts(), own)
    silence = min(SILENCE, timeout)
    try:
        python = python or environments.interpreter(spec.framework)
        with closing(follow(directory, python=python, silence=silence, timeout=timeout)) as events:
            for event in events:
                outcome(event)
                tell(label, event)
    except WorkerError as error:
        outcome.status, outcome.problem, outcome.log = error.status, error.message, error.log
        outcome.exit_code = error.exit_code
    except MissingError as error:
        outcome.status, outcome.problem = "missing", str(error)
        outcome.exit_code = error.exit_code
    except RunDirectoryError as error:  # e.g. the worker's log of another version
        outcome.status, outcome.problem = "failed", str(error)
    tell(label, outcome.status)
    return outcome
