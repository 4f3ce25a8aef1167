"""What a run would do, without doing it: its steps, data, parameters and memory, and the path that
would compute it; how long it would take is guessed from its first steps.

The run is really begun, by the same road as any other, and left after a second: so it is refused
where the run would be, and needs no folder.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from math import lcm, prod
from typing import Any

import numpy as np

from lockstep.frameworks.numpy.ops import NumpyOps
from lockstep.ops import Snapshot
from lockstep.optimizers import slot_names
from lockstep.spec import RunSpec
from lockstep.task import Task, assemble, check_net
from lockstep.training.audience import Audience
from lockstep.training.carry_out import carry_out
from lockstep.training.events import (
    EpochCompleted,
    Event,
    ProgramCompiled,
    RunDiverged,
    RunStarted,
    StepsCompleted,
    StepsEvaluated,
)
from lockstep.training.in_processes import Launch

LOOK_SECONDS = 1.0  # of steps, to guess from


@dataclass(frozen=True)
class DryRun:
    """`examples` by split, in `unit` (examples or symbols); `shapes` of the model's arrays by name;
    `memory` in bytes of what a process of the run holds at most, beside its framework and a batch's
    intermediate values; the guessed seconds of one step and of one evaluation, and how many of each
    there are. A run whose loss is not finite within the first steps has `diverged` at one of them;
    a step that was never completed has no seconds."""

    spec: RunSpec
    num_steps: int
    steps_per_epoch: int
    facts: dict[str, Any]
    unit: str
    examples: dict[str, int]
    shapes: dict[str, tuple[int, ...]]
    memory: dict[str, int]
    notes: list[str]
    compile_seconds: float
    step_seconds: float | None
    num_evaluations: int
    evaluation_seconds: float
    diverged: int | None = None

    @property
    def num_parameters(self) -> int:
        return sum(prod(shape) for shape in self.shapes.values())

    @property
    def seconds(self) -> float | None:
        """The guess of the whole run: compilation, steps and evaluations; None of one that would
        not come to its end."""
        if self.step_seconds is None or self.diverged is not None:
            return None
        steps = self.num_steps * self.step_seconds
        return self.compile_seconds + steps + self.num_evaluations * self.evaluation_seconds

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a program to read."""
        return {
            "name": self.spec.name,
            "framework": self.spec.framework,
            "hash": self.spec.hash,
            "spec": self.spec.to_dict(),
            "steps": self.num_steps,
            "steps_per_epoch": self.steps_per_epoch,
            "data": self.facts,
            "examples": self.examples,
            "unit": self.unit,
            "parameters": self.num_parameters,
            "shapes": {name: list(shape) for name, shape in self.shapes.items()},
            "memory": self.memory,
            "notes": self.notes,
            "compile_seconds": self.compile_seconds,
            "step_seconds": self.step_seconds,
            "evaluations": self.num_evaluations,
            "evaluation_seconds": self.evaluation_seconds,
            "seconds": self.seconds,
            "diverged": self.diverged,
        }


def dry_run(
    spec: RunSpec,
    start: Snapshot | None = None,
    launch: Launch = Launch(),  # noqa: B008 - frozen
) -> DryRun:
    """Begin the run that `spec` describes, look at its first steps, and leave nothing of it."""
    task = assemble(spec, None)
    check_net(task, NumpyOps("float64"))
    seen = _look(spec, task, start, launch)
    count = _num_evaluations(spec, seen.num_steps, seen.steps_per_epoch)
    if count and not seen.evaluations:  # its end was too far away
        short = spec.with_fields({"max_steps": 1})
        seen.evaluations = _look(short, task, start, launch).evaluations
    weights = start.weights if start else task.model.initial_weights(spec.seed)
    shapes = {name: tuple(np.shape(value)) for name, value in weights.items()}
    return DryRun(
        spec,
        seen.num_steps,
        seen.steps_per_epoch,
        dict(task.facts),
        "symbols" if "tokens" in task.splits["train"] else "examples",
        {split: len(next(iter(arrays.values()))) for split, arrays in task.splits.items()},
        shapes,
        _memory(spec, task, shapes),
        seen.notes,
        seen.compile_seconds,
        _typical(seen.step_seconds[1:] or seen.step_seconds),
        count,
        _typical(seen.evaluations) or 0.0,
        seen.diverged,
    )


def _typical(seconds: list[float]) -> float | None:
    return float(np.median(seconds)) if seconds else None


class _Enough(Exception):
    """The run was looked at for long enough."""


@dataclass
class _Look:
    """Listens to the beginning of a run."""

    num_steps: int = 0
    steps_per_epoch: int = 0
    notes: list[str] = field(default_factory=list)
    compile_seconds: float = 0.0
    step_seconds: list[float] = field(default_factory=list)  # of one step, by calls
    evaluations: list[float] = field(default_factory=list)
    diverged: int | None = None
    _spent: float = 0.0
    _newest: float = 0.0

    def __call__(self, event: Event) -> None:
        before, self._newest = self._newest, time.perf_counter()
        if isinstance(event, RunStarted):
            self.num_steps, self.steps_per_epoch = event.num_steps, event.steps_per_epoch
        elif isinstance(event, ProgramCompiled):
            self.compile_seconds, self.notes = event.seconds, list(event.notes)
        elif isinstance(event, EpochCompleted | StepsEvaluated):
            if len(event.metrics.keys() - {"train_loss", "train_perplexity"}):
                self.evaluations.append(self._newest - before)
        elif isinstance(event, StepsCompleted):
            self._spent += event.seconds
            self.step_seconds.append(event.seconds / len(event.loss))
        elif isinstance(event, RunDiverged):
            self.diverged = event.step
        if self._spent > LOOK_SECONDS and len(self.step_seconds) > 1:
            raise _Enough


def _look(spec: RunSpec, task: Task, start: Snapshot | None, launch: Launch) -> _Look:
    seen = _Look()
    try:
        carry_out(
            spec, None, None, Audience(listeners=[seen]), start=start, launch=launch, task=task
        )
    except _Enough:
        return seen
    return seen


def _num_evaluations(spec: RunSpec, num_steps: int, steps_per_epoch: int) -> int:
    """How often splits are measured: at the ends of epochs, at the end of all, and at multiples of
    evaluate_steps, 0 among them; once where those fall together."""
    if not spec.measured:
        return 0

    def between(every: int) -> int:
        """How many multiples lie between the first step and the end."""
        return (num_steps - 1) // every

    epochs = steps_per_epoch * spec.evaluate_epochs
    count = between(epochs) + 1
    if every := spec.evaluate_steps:
        count += 1 + between(every) - between(lcm(epochs, every))
    return count


def _memory(spec: RunSpec, task: Task, shapes: dict[str, tuple[int, ...]]) -> dict[str, int]:
    """Bytes of what is held at the moment that takes most: while a state is saved. `copies` of it
    are then the one at the start (in float64), the one before the newest steps, and about four on
    their way into a file. The data is held in NumPy and on the device."""
    size = np.dtype(spec.precision).itemsize
    count = sum(prod(shape) for shape in shapes.values())
    slots = len(slot_names(spec.optimizer))
    state = count * size * (1 + slots)
    arrays = [np.asarray(a) for split in task.splits.values() for a in split.values()]
    on_device = [a.size * (size if a.dtype.kind == "f" else a.dtype.itemsize) for a in arrays]
    parts = {
        "weights": count * size,
        "gradients": count * size,
        "slots": count * size * slots,
        "copies": count * 8 * (1 + slots) + 5 * state,
        "data": sum(a.nbytes for a in arrays) + sum(on_device),
    }
    return {**parts, "total": sum(parts.values())}
