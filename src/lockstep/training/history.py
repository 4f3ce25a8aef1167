"""The history of a run: per-step columns and per-epoch metrics, gathered from events."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from lockstep.errors import unknown
from lockstep.training.events import (
    EpochCompleted,
    Event,
    ProgramCompiled,
    RemarkMade,
    RunStarted,
    StepsCompleted,
)

COLUMNS = ("loss", "grad_norm", "lr", "epoch", "batch")
_Call = tuple[int, int, float]  # step, how many, seconds


class History:
    """A table with one row per step: `history[:, "loss"]`, `history[-1, "lr"]`.

    >>> h = History()
    >>> h(StepsCompleted(0, 0, loss=[3.0, 2.0], grad_norm=[1, 1], lr=[0.1, 0.1], seconds=0.5))
    >>> h[:, "loss"].tolist(), len(h)
    ([3.0, 2.0], 2)
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._columns: dict[str, list[float]] = {name: [] for name in COLUMNS}
        self._calls: list[_Call] = []
        self.epochs: list[EpochCompleted] = []
        self.compile_seconds = 0.0
        self.notes: list[str] = []
        self.remarks: list[str] = []
        self.frameworks: list[tuple[str, int]] = []  # that carried the run out, from which step on
        for event in events:
            self(event)

    def __call__(self, event: Event) -> None:
        """Take an event in; steps seen before are replaced (a run that went back)."""
        if isinstance(event, StepsCompleted):
            count = len(event.loss)
            values = {"epoch": [event.epoch] * count}
            for name, column in self._columns.items():
                if len(column) < event.step:  # a log that lost lines must not move later ones
                    column += [math.nan] * (event.step - len(column))
                column[event.step :] = (
                    values.get(name) or getattr(event, name) or [math.nan] * count
                )
            while self._calls and self._calls[-1][0] >= event.step:
                self._calls.pop()
            if self._calls:
                self._calls[-1] = _until(self._calls[-1], event.step)
            self._calls.append((event.step, count, event.seconds))
        elif isinstance(event, EpochCompleted):
            while self.epochs and self.epochs[-1].epoch >= event.epoch:
                self.epochs.pop()
            self.epochs.append(event)
        elif isinstance(event, RunStarted) and "framework" in event.facts:
            self._begin_in(event.facts["framework"], event.step)
        elif isinstance(event, RemarkMade) and event.text not in self.remarks:
            self.remarks.append(event.text)
        elif isinstance(event, ProgramCompiled):
            self.compile_seconds, self.notes = event.seconds, event.notes

    def _begin_in(self, framework: str, step: int) -> None:
        while self.frameworks and self.frameworks[-1][1] >= step:  # it came to nothing
            self.frameworks.pop()
        if not self.frameworks or self.frameworks[-1][0] != framework:
            self.frameworks.append((framework, step))

    def __len__(self) -> int:
        return len(self._columns["loss"])

    def __getitem__(self, key: tuple[Any, str]) -> Any:
        rows, name = key
        if name not in self._columns:
            raise unknown("column", name, COLUMNS)
        return np.array(self._columns[name], dtype=np.float64)[rows]

    @property
    def metrics(self) -> dict[str, float]:
        """The newest value of every epoch metric, and of the step loss."""
        newest: dict[str, float] = {}
        for event in self.epochs:
            newest |= event.metrics
        if len(self):
            newest["loss"] = self._columns["loss"][-1]
        return newest

    @property
    def seconds(self) -> float:
        """Time spent in steps."""
        return sum(c[2] for c in self._calls)

    def step_rates(self) -> np.ndarray:
        """Steps per second of each call, the first (warm-up) left out where there are more."""
        calls = self._calls[1:] or self._calls
        return np.array([count / max(seconds, 1e-12) for _, count, seconds in calls])


def _until(call: _Call, step: int) -> _Call:
    """The part of a call before `step`, with its share of the time."""
    first, count, seconds = call
    kept = min(count, step - first)
    return first, kept, seconds * kept / count
