"""What came of one run of a comparison, and the row and verdicts that it gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lockstep.comparison.rows import Curve, Rate, Row
from lockstep.comparison.verdict import (
    Verdict,
    judge_batches,
    judge_parameters,
    judge_steps,
    relative_deviation,
)
from lockstep.errors import LockstepError, MissingError
from lockstep.ops import Arrays
from lockstep.processes.children import WorkerError
from lockstep.spec import RunSpec
from lockstep.training import checkpoints
from lockstep.training.directory import RunDirectory, holds_run
from lockstep.training.events import (
    CheckpointSaved,
    Event,
    RunCompleted,
    RunDiverged,
    RunInterrupted,
)
from lockstep.training.history import History

COLUMNS = {"lr": "lr", "loss": "loss", "gradient norm": "grad_norm"}  # of the history


@dataclass
class Outcome:
    """Where a run began, its history, its end. A failure is an outcome too."""

    spec: RunSpec
    directory: Path
    history: History = field(default_factory=History)
    status: str = "crashed"
    problem: str = ""
    log: tuple[str, ...] = ()
    error: LockstepError | None = None
    diverged_at: int | None = None
    initial: Arrays = field(default_factory=dict)

    def record(self, event: Event) -> None:
        """Take in an event of the run."""
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

    def fail(self, error: LockstepError) -> None:
        """Take in the error that ended the run."""
        self.error, self.problem = error, str(error)
        if isinstance(error, WorkerError):
            self.status, self.problem, self.log = error.status, error.message, error.log
        else:
            self.status = "missing" if isinstance(error, MissingError) else "failed"

    @property
    def ended(self) -> bool:
        """Whether the run came to its own end, so that its steps can be judged."""
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
        """Machine and versions, as the run's process saw them; {} if it never began."""
        return RunDirectory(self.directory).machine if holds_run(self.directory) else {}


def make_row(outcome: Outcome, oracle: Outcome, tolerances: Mapping[str, float]) -> Row:
    """The row of a framework; the oracle's own, when both outcomes are the same one."""
    history, spec = outcome.history, outcome.spec
    loss = history[:, "loss"]
    is_oracle = outcome is oracle
    judged = outcome.ended and oracle.ended and not is_oracle
    deviation = relative_deviation(loss, oracle.history[:, "loss"])
    return Row(
        framework=spec.framework,
        version=str(outcome.facts.get("version", "")),
        precision=spec.precision,
        style=spec.style,
        devices=spec.devices,
        status=outcome.status,
        oracle=is_oracle,
        verdicts=judge(outcome, oracle, tolerances) if judged else (),
        final_loss=float(loss[-1]) if len(loss) else None,
        metrics=history.metrics,
        rate=Rate.of(history.step_rates()) if len(loss) else None,
        compile_seconds=history.compile_seconds if len(loss) else None,
        peak_memory=outcome.facts.get("peak_memory"),
        notes=tuple(history.notes),
        problem=outcome.problem,
        log=outcome.log,
        directory=str(outcome.directory),
        curve=Curve(loss, np.cumsum(history[:, "seconds"]), deviation),
    )


def judge(
    outcome: Outcome, oracle: Outcome, tolerances: Mapping[str, float]
) -> tuple[Verdict, ...]:
    """A verdict on each quantity, in the order in which a run meets them."""
    ends = (outcome.num_steps, oracle.num_steps)
    per_step = [
        judge_steps(
            quantity,
            outcome.history[:, column],
            oracle.history[:, column],
            tolerances[quantity],
            ends,
        )
        for quantity, column in COLUMNS.items()
    ]
    begin, end = (
        judge_parameters(ours, theirs, tolerances[quantity], num_steps, quantity)
        for quantity, ours, theirs, num_steps in (
            ("initial parameters", outcome.initial, oracle.initial, 0),
            ("parameters", outcome.weights, oracle.weights, min(ends)),
        )
    )
    batches = judge_batches(outcome.history[:, "batch"], oracle.history[:, "batch"])
    return (begin, batches, *per_step, end)
