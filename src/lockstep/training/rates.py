"""Which learning rate each step uses: the schedule's, the plateau's, or one set by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lockstep.checks import number
from lockstep.schedules import AnySchedule, PlateauState, ReduceOnPlateau


class Rates:
    """The rates of a run. Its state (`to_dict`) is plain numbers and goes into checkpoints."""

    def __init__(
        self, schedule: AnySchedule, per: str, state: dict[str, Any] | None = None
    ) -> None:
        state = state or {}
        self._schedule, self._per = schedule, per
        self.by_hand: float = state.get("by_hand", math.nan)  # NaN: none
        self._plateau: PlateauState | None = None
        if isinstance(schedule, ReduceOnPlateau):
            saved = state.get("plateau")
            self._plateau = PlateauState.from_dict(saved) if saved else schedule.start()

    def to_dict(self) -> dict[str, Any]:
        state: dict[str, Any] = {}
        if not math.isnan(self.by_hand):
            state["by_hand"] = self.by_hand
        if self._plateau is not None:
            state["plateau"] = self._plateau.to_dict()
        return state

    def lrs(self, step: int, count: int, epoch: int) -> np.ndarray:
        """The rates of steps step ... step + count - 1, all of one epoch, in float64."""
        same = self.same_lr(step, epoch)
        if same is not None:  # no list of numbers: a step may take 0.1 us
            return np.full(count, same)
        return np.array(self._schedule.values(step, step + count))  # type: ignore[union-attr]

    def same_lr(self, step: int, epoch: int) -> float | None:
        """The rate of every step from `step` to the end of its epoch; None where it changes."""
        if not math.isnan(self.by_hand):
            return self.by_hand
        if self._plateau is not None:
            return self._plateau.lr
        if self._per == "epoch":
            return self._schedule(epoch)  # type: ignore[operator]
        settled = self._schedule.settled  # type: ignore[union-attr]
        if settled is None or step < settled:
            return None
        return self._schedule(settled)  # type: ignore[operator]

    def set_by_hand(self, lr: float | None) -> None:
        """From the next step on use this rate; None returns to the schedule."""
        self.by_hand = math.nan if lr is None else number("lr", lr, least=0.0)

    def observe(self, metrics: dict[str, float], name: str) -> None:
        """Show the plateau the metric `name` of an epoch, if the epoch was measured by it."""
        if isinstance(self._schedule, ReduceOnPlateau) and self._plateau and name in metrics:
            self._plateau = self._schedule.update(self._plateau, metrics[name])
