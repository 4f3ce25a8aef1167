"""A run under way: the program's state, and what the host knows beside it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from lockstep.frameworks.protocol import Program, State
from lockstep.ops import Snapshot
from lockstep.processes.collective import Collective, NullCollective
from lockstep.spec import RunSpec
from lockstep.task import Task
from lockstep.training.early_stopping import Best, is_over
from lockstep.training.events import BestKept, Event, LearningRateSet, RunDiverged, StoppedEarly
from lockstep.training.rates import Rates

CALL_SECONDS = 0.25  # about how long one call of the program may take: progress, Ctrl-C
SAVE_SECONDS = 10.0


@dataclass
class EpochSums:
    """Losses of the epoch so far, to be divided once at its end."""

    loss: float = 0.0
    count: int = 0


@dataclass
class Call:
    """A call of the program and the run as it was before it: a place to go back to. Its `losses`
    are known once it is done."""

    rows: np.ndarray
    lrs: np.ndarray
    state: State
    step: int
    epochs_ended: int
    sums: EpochSums
    rates: dict[str, Any]
    best: Best | None
    losses: np.ndarray = field(default_factory=lambda: np.empty(0))


@dataclass
class Training:
    """What callbacks get beside each event: they may look, set the rate, or stop the run."""

    task: Task
    spec: RunSpec
    program: Program
    state: State
    rates: Rates
    listeners: list[Callable[[Event], None]]
    save_snapshot: Callable[[Training, Snapshot], None]
    step: int = 0
    epochs_ended: int = 0
    seconds: float = 0.0  # spent in steps, evaluation and compilation apart
    sums: EpochSums = field(default_factory=EpochSums)
    event_steps: int = 0  # an event at every multiple at least; 0: as CALL_SECONDS allows
    stopped: bool = False
    interrupted: bool = False
    divergence: RunDiverged | None = None
    previous_call: Call | None = None
    best: Best | None = None  # with patience only
    collective: Collective = field(default_factory=NullCollective)
    folder: Path | None = None  # where the run is kept
    _pace: float = 8.0
    _saved: float = field(default_factory=time.monotonic)

    @cached_property
    def steps_per_epoch(self) -> int:
        return self.task.plan.num_batches

    @cached_property
    def num_steps(self) -> int:
        """How many updates the whole run has."""
        total = self.spec.epochs * self.steps_per_epoch
        return min(total, self.spec.max_steps) if self.spec.max_steps else total

    @property
    def epoch_end(self) -> int:
        """The step at which the epoch under way ends."""
        return min((self.epochs_ended + 1) * self.steps_per_epoch, self.num_steps)

    @property
    def finished(self) -> bool:
        """Whether the last epoch, whole or cut short by max_steps, has ended, or patience has."""
        return self.ended_early or self.epochs_ended * self.steps_per_epoch >= self.num_steps

    @property
    def ended_early(self) -> bool:
        """Whether patience has come to its end before the run has."""
        return self.step < self.num_steps and is_over(self.spec, self.best)

    @property
    def status(self) -> str:
        """completed, diverged, interrupted or stopped; "running" before the end."""
        if self.finished:
            return "completed"
        if self.divergence is not None:
            return "diverged"
        return "interrupted" if self.interrupted else "stopped" if self.stopped else "running"

    def set_lr(self, lr: float | None) -> None:
        """Use this rate from the next step on; None returns to the schedule."""
        self.rates.set_by_hand(lr)
        self.emit(LearningRateSet(self.step, lr))

    def stays_at_zero(self, epoch: int) -> bool:
        """Whether the rate of every step of an epoch is 0, as far as can be known before it."""
        first = epoch * self.steps_per_epoch
        count = min(self.steps_per_epoch, self.num_steps - first)
        # the first alone is nearly always enough to know
        return not (
            self.rates.lrs(first, 1, epoch).any() or self.rates.lrs(first, count, epoch).any()
        )

    def stop(self) -> None:
        """End the run after the event at hand; it can be resumed."""
        self.stopped = True

    def interrupt(self) -> None:
        """Stop because a person asked for it."""
        self.interrupted = True
        self.stop()

    def goes_on(self) -> bool:
        """Whether the run was not stopped: in all its processes, as rank 0 says."""
        stopped = bool(self.agree(np.array([self.stopped]))[0])
        self.stopped = self.stopped or stopped
        return not stopped

    def agree(self, values: np.ndarray) -> np.ndarray:
        """Rank 0's values: what the processes of a run must have in common."""
        return self.collective.broadcast([values])[0]

    def observe(self, metrics: dict[str, float]) -> None:
        """Show early stopping what was measured; rank 0 says whether it is a gain."""
        best, name = self.best, self.spec.watched
        if best is None or name not in metrics or not self.step:
            return
        gain = best.gains(metrics[name], self.spec.least_gain)
        if bool(self.agree(np.array([gain]))[0]):
            weights = self.program.dump(self.state).weights
            self.best = Best(name, metrics[name], self.step, weights=weights)
            self.emit(BestKept(self.step, name, metrics[name], metrics))
        else:
            self.best = replace(best, waited=best.waited + 1)

    def tell_early_end(self) -> None:
        """Say so if the run ends early."""
        if (best := self.best) is not None and self.ended_early:
            event = StoppedEarly(self.step, best.step, best.watch, best.value, best.waited)
            self.emit(event)

    def emit(self, event: Event) -> None:
        for listener in self.listeners:
            listener(event)

    def save(self) -> None:
        """Write a checkpoint of this moment."""
        self.save_snapshot(self, self.snapshot())
        self._saved = time.monotonic()

    def snapshot(self) -> Snapshot:
        """All that the run needs to be continued from here. A host sync."""
        best = {} if self.best is None else self.best.weights
        return replace(self.program.dump(self.state), best=best)

    def save_if_due(self, *, epoch_ended: bool) -> None:
        """Save at multiples of checkpoint_steps, or at an epoch's end when the last is old.

        A checkpoint at the last step of an epoch waits until the epoch's end is recorded.
        """
        if self.spec.checkpoint_steps:
            ready = epoch_ended or self.step < self.epoch_end
            due = ready and self.step % self.spec.checkpoint_steps == 0
        else:
            due = epoch_ended and time.monotonic() - self._saved > SAVE_SECONDS
        if due:
            self.save()

    def call_size(self) -> int:
        """How many steps the next call may take; 0 once the run was stopped, or ended early.

        Rank 0 says it for all processes, and the rate that it set by hand: they agree once a call,
        for that costs as much as a step of a small model."""
        limits = [int(self._pace), self.epoch_end - self.step]
        # counted from step 0: a resumed run has its events where an uninterrupted one has
        multiples = (self.event_steps, self.spec.checkpoint_steps, self.spec.evaluate_steps)
        limits += [every - self.step % every for every in multiples if every]
        size = 0 if self.stopped or self.ended_early else max(1, min(limits))
        size, self.rates.by_hand = self.agree(np.array([size, self.rates.by_hand])).tolist()
        self.stopped = self.stopped or size == 0
        return int(size)

    def call(self, rows: np.ndarray, lrs: np.ndarray) -> Call:
        """The next call, with all that is needed to go back to before it."""
        sums, rates = replace(self.sums), self.rates.to_dict()
        return Call(rows, lrs, self.state, self.step, self.epochs_ended, sums, rates, self.best)

    def go_back(self, call: Call) -> None:
        """Take up the run as it was before a call."""
        self.state, self.step, self.epochs_ended = call.state, call.step, call.epochs_ended
        self.sums, self.best = replace(call.sums), call.best
        self.rates = Rates(self.spec.schedule, self.spec.schedule_per, call.rates)

    def advance(self, state: State, losses: np.ndarray, batch_size: int, seconds: float) -> None:
        """Take over the state after len(losses) more steps, and mind how fast they were."""
        count = len(losses)
        self.state, self.step, self.seconds = state, self.step + count, self.seconds + seconds
        # added one by one, from the left: how a run is cut into calls changes no bit
        totals = np.add.accumulate(np.append(self.sums.loss, losses * float(batch_size)))
        self.sums.loss, self.sums.count = float(totals[-1]), self.sums.count + count * batch_size
        # at most fourfold at once: the first call of a program may be the slowest by far
        self._pace = min(4 * max(self._pace, count), CALL_SECONDS * count / max(seconds, 1e-9) + 1)


def keep_last_good(run: Training, call: Call, bad: int, loss: float) -> None:
    """Stop the run at the state before the update that broke the loss of the `bad`-th step.

    The loss of step s is that of the weights after step s - 1, so the update of step s - 1 is to
    blame and the state before it is kept. Steps repeat exactly, so it is reached by going again.
    """
    if bad == 0 and run.previous_call is not None:  # the last update of the call before did it
        call, bad = run.previous_call, len(run.previous_call.rows)
    good = max(bad - 1, 0)
    run.go_back(call)
    if good:
        state, _ = run.program.steps(call.state, call.rows[:good], call.lrs[:good], call.step)
        run.advance(state, call.losses[:good], call.rows.shape[1], 0.0)
    run.divergence = RunDiverged(call.step + bad, loss, float(call.lrs[good]), run.step)
    run.stop()
