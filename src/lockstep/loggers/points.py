"""The points of a run's curves: what a tool is told of an event, and the events of a run that was
carried out before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lockstep.training.events import EpochCompleted, Event, StepsCompleted, StepsEvaluated
from lockstep.training.history import History

MOST = 10_000  # steps of a run that are logged, unless asked otherwise
BLOCK = 1 << 15  # steps that are read together


@dataclass(frozen=True)
class Point:
    """Values of the weights after `step` updates, and when they were known: seconds since 1970."""

    step: int
    time: float
    values: dict[str, float]


def stride(num_steps: int) -> int:
    """Every which step of so many is logged.

    >>> stride(10_000), stride(10_001), stride(3_000_000)
    (1, 2, 300)
    """
    return max(1, -(-num_steps // MOST))


def points(event: Event, time: float, every: int = 1) -> Iterator[Point]:
    """The points of an event that ended at `time`: of every multiple of `every` among its steps,
    and of its metrics. An event of another kind has none.

    >>> event = StepsCompleted(3, 0, [3.0, 2.0], [1.0, 1.0], [0.1, 0.2], seconds=0.5)
    >>> list(points(event, time=8.0, every=2))
    [Point(step=4, time=8.0, values={'loss': 2.0, 'grad_norm': 1.0, 'lr': 0.2})]
    """
    if isinstance(event, StepsCompleted):
        count = len(event.loss)
        chosen = np.arange(-event.step % every, count, every)
        times = time - event.seconds * (count - 1 - chosen) / max(1, count)
        columns = (event.loss[chosen], event.grad_norm[chosen], event.lr[chosen])
        rows = zip(chosen.tolist(), times.tolist(), *(c.tolist() for c in columns), strict=True)
        for place, at, loss, grad_norm, lr in rows:
            values = {"loss": loss, "grad_norm": grad_norm, "lr": lr}
            known = {name: value for name, value in values.items() if value == value}
            if known:  # the record of a step may be lost
                yield Point(event.step + place, at, known)
    elif isinstance(event, EpochCompleted | StepsEvaluated):
        yield Point(event.step, time, dict(event.metrics))


def replayed(
    history: History, end: float, before: int | None = None
) -> Iterator[tuple[Event, float]]:
    """The events of a run again, each with the time at which it ended; steps `before` one, if it is
    given. The log has no clock: the time spent in steps is counted back from `end`."""
    count = len(history) if before is None else min(before, len(history))
    seconds = np.nan_to_num(history[:, "seconds"][:count])
    begin = end - float(seconds.sum())
    loss, grad_norm, lr = (history[:, name][:count] for name in ("loss", "grad_norm", "lr"))
    time = begin
    for start in range(0, count, BLOCK):
        part = slice(start, min(start + BLOCK, count))
        spent = float(seconds[part].sum())
        time += spent
        yield StepsCompleted(start, 0, loss[part], grad_norm[part], lr[part], spent), time
    measured: list[EpochCompleted | StepsEvaluated] = [*history.evaluations, *history.epochs]
    for event in sorted(measured, key=lambda event: event.step):
        if event.step <= count:
            yield event, begin + event.seconds
