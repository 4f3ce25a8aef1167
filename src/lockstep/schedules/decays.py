"""Schedules that fall for ever: square root and other powers, factor, exponential and inverse time.
Pure formulas; nothing here keeps state between calls."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from lockstep.schedules import fields
from lockstep.schedules.base import Schedule
from lockstep.schedules.fields import Flag, Fraction, Positive, Rate, Steps


@dataclass(frozen=True)
class SquareRoot(Schedule):
    """Falls with the square root of the number of steps: `base * (t + 1)^(-1/2)`.

    >>> [round(lr, 6) for lr in square_root(0.1).values(0, 4)]
    [0.1, 0.070711, 0.057735, 0.05]
    """

    kind: ClassVar[str] = "square_root"
    formula: ClassVar[str] = "base * (t + 1)^(-1/2)"
    example: ClassVar[str] = "square_root(0.1)"
    settled = None
    marks = (3, 8, 24, 99)  # a half, a third, a fifth and a tenth of base
    base: Rate

    def rate(self, step: int) -> float:
        return self.base * (step + 1) ** -0.5


@dataclass(frozen=True)
class InversePower(Schedule):
    """Falls with a power of the number of steps: `base * (t + 1)^(-exponent)`. At 1/2 it is
    `square_root`, at 1 it is `inverse_time` with decay 1; the larger, the faster.

    >>> inverse_power(0.5, exponent=2.0).values(0, 3)
    [0.5, 0.125, 0.05555555555555555]
    """

    kind: ClassVar[str] = "inverse_power"
    formula: ClassVar[str] = "base * (t + 1)^(-exponent)"
    example: ClassVar[str] = "inverse_power(0.3, exponent=0.25)"
    settled = None
    marks = (3, 8, 24, 99)
    base: Rate
    _: KW_ONLY
    exponent: Positive

    def rate(self, step: int) -> float:
        return self.base * (step + 1) ** -self.exponent


@dataclass(frozen=True)
class Factor(Schedule):
    """Multiplied by `factor` at every step, down to a floor: `max(floor, base * factor^t)`.

    >>> factor(2.0, factor=0.5, floor=0.3).values(0, 5)
    [2.0, 1.0, 0.5, 0.3, 0.3]
    """

    kind: ClassVar[str] = "factor"
    formula: ClassVar[str] = "max(floor, base * factor^t)"
    example: ClassVar[str] = "factor(2.0, factor=0.9, floor=0.01)"
    settled = None
    base: Rate
    _: KW_ONLY
    factor: Fraction
    floor: Rate = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        fields.not_above(self, "floor", "base")

    def rate(self, step: int) -> float:
        return max(self.floor, self.base * self.factor**step)

    @property
    def marks(self) -> tuple[int, ...]:
        return _fall(self.factor, 1, self.floor / self.base if self.base else 0.0)


@dataclass(frozen=True)
class _TimedDecay(Schedule):
    """What falls by `decay` in the time of `steps` steps, smoothly or in stairs."""

    settled = None
    base: Rate
    _: KW_ONLY
    decay: Positive
    steps: Steps = 1
    staircase: Flag = False


@dataclass(frozen=True)
class Exponential(_TimedDecay):
    """Multiplied by `decay` once in every `steps` steps, smoothly or in stairs:
    `base * decay^(t/T)` with T = steps; with `staircase`, `base * decay^floor(t/T)`.

    >>> exponential(1.0, decay=0.25, steps=2).values(0, 4)
    [1.0, 0.5, 0.25, 0.125]
    >>> exponential(1.0, decay=0.25, steps=2, staircase=True).values(0, 4)
    [1.0, 1.0, 0.25, 0.25]
    """

    kind: ClassVar[str] = "exponential"
    formula: ClassVar[str] = "base * decay^(t/steps); staircase: base * decay^floor(t/steps)"
    example: ClassVar[str] = "exponential(0.3, decay=0.5, steps=10)"

    def rate(self, step: int) -> float:
        exponent = step // self.steps if self.staircase else step / self.steps
        try:
            rate = self.base * self.decay**exponent
        except OverflowError:
            rate = math.inf
        if rate == math.inf:  # only for decay > 1, a learning-rate range test
            problem = f"has grown past the largest number at step {step}"
            raise fields.error("decay", self.decay, problem, "Lower decay or end the run earlier.")
        return rate

    @property
    def marks(self) -> tuple[int, ...]:
        return _fall(self.decay, self.steps)


@dataclass(frozen=True)
class InverseTime(_TimedDecay):
    """Falls with one over the time: `base / (1 + decay * t/T)` with T = steps; with `staircase`,
    `base / (1 + decay * floor(t/T))`.

    >>> inverse_time(0.5, decay=1.0).values(0, 4)
    [0.5, 0.25, 0.16666666666666666, 0.125]
    """

    kind: ClassVar[str] = "inverse_time"
    formula: ClassVar[str] = "base / (1 + decay * t/steps); staircase: floor(t/steps)"
    example: ClassVar[str] = "inverse_time(0.3, decay=0.5, steps=10)"

    def rate(self, step: int) -> float:
        time = step // self.steps if self.staircase else step / self.steps
        return self.base / (1 + self.decay * time)

    @property
    def marks(self) -> tuple[int, ...]:
        return tuple(self.steps * k for k in (1, 2, 5, 10))


def _fall(factor: float, steps: int, floor: float = 0.0) -> tuple[int, ...]:
    """Marks of a geometric fall by `factor` in `steps` steps, down to `floor` or a hundredth."""
    if factor >= 1 or floor >= 1:
        return tuple(steps * k for k in (1, 2, 5, 10))
    end = math.ceil(steps * math.log(max(floor, 0.01)) / math.log(factor))
    return tuple(sorted({max(1, end * k // 4) for k in (1, 2, 3, 4)}))


square_root = SquareRoot
inverse_power = InversePower
factor = Factor
exponential = Exponential
inverse_time = InverseTime
