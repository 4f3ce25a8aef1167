"""The one rule that reads metrics: reduce the learning rate when a metric stops improving. It is no
schedule (its rate is no function of the step), so its state is explicit, plain numbers, and fits
into a checkpoint. Nothing here keeps state of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Annotated, ClassVar

from lockstep.checks import one_of
from lockstep.errors import InputError, unknown
from lockstep.schedules import fields
from lockstep.schedules.fields import NotNegative, ProperFraction, Rate, StepsOrZero

SMALLEST_CHANGE = 1e-8  # PyTorch's `eps`: a smaller reduction is not made


@dataclass(frozen=True)
class PlateauState:
    """The state of a ReduceOnPlateau: the rate to use now, the best metric seen (None before the
    first), the number of evaluations since then without improvement, and of cooldown left.

    >>> state = plateau(0.1).start()
    >>> state.to_dict()
    {'lr': 0.1, 'num_bad': 0, 'cooldown_left': 0}
    >>> PlateauState.from_dict(state.to_dict()) == state
    True
    """

    lr: float
    best: float | None = None
    num_bad: int = 0
    cooldown_left: int = 0

    def to_dict(self) -> dict[str, float | int]:
        """Plain numbers for JSON; `best` is left out while there is none."""
        numbers: dict[str, float | int] = {"lr": self.lr}
        if self.best is not None:
            numbers["best"] = self.best
        return numbers | {"num_bad": self.num_bad, "cooldown_left": self.cooldown_left}

    @classmethod
    def from_dict(cls, numbers: Mapping[str, float | int]) -> PlateauState:
        """The state that `to_dict` wrote."""
        known = ("lr", "best", "num_bad", "cooldown_left")
        for name in numbers:
            if name not in known:
                raise unknown("plateau state", name, known)
        try:
            best = float(numbers["best"]) if "best" in numbers else None
            num_bad, cooldown_left = int(numbers["num_bad"]), int(numbers["cooldown_left"])
            return cls(float(numbers["lr"]), best, num_bad, cooldown_left)
        except (KeyError, TypeError, ValueError):
            problem, remedy = "is not a plateau state", "Give what PlateauState.to_dict() wrote."
            raise InputError("plateau state", dict(numbers), problem, remedy) from None


@dataclass(frozen=True)
class ReduceOnPlateau:
    """Multiplies the rate by `factor`, down to `floor`, when more than `patience` evaluations in a
    row bring no improvement; for the next `cooldown` evaluations none is counted.

    An improvement (mode "min") is a metric below `best * (1 - threshold)` ("rel") or
    `best - threshold` ("abs"); with mode "max", above `best * (1 + threshold)` or
    `best + threshold`. The meaning is that of PyTorch's ReduceLROnPlateau.

    >>> rule = plateau(0.1, factor=0.5, patience=1)
    >>> state = rule.start()
    >>> for loss in [1.0, 1.0, 1.0]:
    ...     state = rule.update(state, loss)
    >>> state
    PlateauState(lr=0.05, best=1.0, num_bad=0, cooldown_left=0)
    """

    kind: ClassVar[str] = "plateau"
    formula: ClassVar[str] = (
        "lr * factor (not below floor) after more than patience evaluations without improvement"
    )
    example: ClassVar[str] = "plateau(0.3, factor=0.5, patience=3)"
    base: Rate
    _: KW_ONLY
    factor: ProperFraction = 0.1
    patience: StepsOrZero = 10
    threshold: NotNegative = 1e-4
    threshold_mode: Annotated[str, partial(one_of, known=("rel", "abs"))] = "rel"
    mode: Annotated[str, partial(one_of, known=("min", "max"))] = "min"
    cooldown: StepsOrZero = 0
    floor: Rate = 0.0

    def __post_init__(self) -> None:
        fields.check(self)
        fields.not_above(self, "floor", "base")
        if self.threshold_mode == "rel" and self.mode == "min" and self.threshold >= 1:
            problem = "asks a metric to fall by all of itself or more"
            remedy = 'Give a fraction below 1, or threshold_mode="abs".'
            raise fields.error("threshold", self.threshold, problem, remedy)

    def start(self) -> PlateauState:
        """The state before the first evaluation.

        >>> plateau(0.1).start().lr
        0.1
        """
        return PlateauState(self.base)

    def update(self, state: PlateauState, metric: float) -> PlateauState:
        """The state after one more evaluation; pure, so the same arguments give the same state.

        >>> rule = plateau(0.1, mode="max")
        >>> rule.update(rule.start(), 0.7).best
        0.7
        """
        metric = float(metric)
        better = self._better(metric, state.best)
        best = metric if better else state.best
        num_bad = 0 if better or state.cooldown_left else state.num_bad + 1
        cooldown_left = max(0, state.cooldown_left - 1)
        if num_bad <= self.patience:
            return PlateauState(state.lr, best, num_bad, cooldown_left)
        lowered = max(state.lr * self.factor, self.floor)
        lr = lowered if state.lr - lowered > SMALLEST_CHANGE else state.lr
        return replace(state, lr=lr, best=best, num_bad=0, cooldown_left=self.cooldown)

    def _better(self, metric: float, best: float | None) -> bool:
        if not math.isfinite(metric):  # never a best: it could not be stored as JSON
            return False
        if best is None:
            return True
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "rel":
            bar = best * (1 + sign * self.threshold)
        else:
            bar = best + sign * self.threshold
        return metric > bar if self.mode == "max" else metric < bar


plateau = ReduceOnPlateau
