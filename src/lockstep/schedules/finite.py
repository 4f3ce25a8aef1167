"""Schedules that arrive: constant, multi-factor, polynomial, linear and cosine reach a last rate
and stay there. Pure formulas; nothing here keeps state between calls."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Annotated, ClassVar

from lockstep.schedules import fields
from lockstep.schedules.base import Schedule
from lockstep.schedules.fields import Fraction, Positive, Rate, Steps


@dataclass(frozen=True)
class Constant(Schedule):
    """The same learning rate at every step: `base`.

    >>> constant(0.3).values(0, 3)
    [0.3, 0.3, 0.3]
    """

    kind: ClassVar[str] = "constant"
    formula: ClassVar[str] = "base"
    example: ClassVar[str] = "constant(0.3)"
    settled = 0
    marks = (10,)
    base: Rate

    def rate(self, step: int) -> float:
        return self.base


@dataclass(frozen=True)
class MultiFactor(Schedule):
    """Multiplied by `factor` from each milestone on: `base * factor^n` with n the number of
    milestones m with t >= m. Milestones are steps, ascending.

    >>> multi_factor(0.5, milestones=[15, 30], factor=0.5).values(14, 16)
    [0.5, 0.25]
    """

    kind: ClassVar[str] = "multi_factor"
    formula: ClassVar[str] = "base * factor^n, n = number of milestones m with t >= m"
    example: ClassVar[str] = "multi_factor(0.5, milestones=[15, 30], factor=0.5)"
    base: Rate
    _: KW_ONLY
    milestones: Annotated[tuple[int, ...], partial(fields.ascending, low=0)]
    factor: Fraction

    def rate(self, step: int) -> float:
        return self.base * self.factor ** bisect_right(self.milestones, step)

    @property
    def settled(self) -> int:
        return self.milestones[-1] if self.milestones else 0

    @property
    def marks(self) -> tuple[int, ...]:
        return self.milestones or (10,)


@dataclass(frozen=True)
class _ToFinal(Schedule):
    """What goes from base to final in `steps` steps and stays there."""

    base: Rate
    _: KW_ONLY
    final: Rate = 0.0
    steps: Steps

    @property
    def settled(self) -> int:
        return self.steps

    @property
    def marks(self) -> tuple[int, ...]:
        return (self.steps,)


@dataclass(frozen=True)
class Polynomial(_ToFinal):
    """From base to final along a power of the time left:
    `final + (base - final) * (1 - t/T)^power` with T = steps, then held at `final`.

    >>> [round(lr, 4) for lr in polynomial(0.3, final=0.1, steps=4, power=2).values(0, 6)]
    [0.3, 0.2125, 0.15, 0.1125, 0.1, 0.1]
    """

    kind: ClassVar[str] = "polynomial"
    formula: ClassVar[str] = "final + (base - final) * (1 - t/steps)^power, final for t > steps"
    example: ClassVar[str] = "polynomial(0.3, final=0.01, steps=20, power=2.0)"
    _: KW_ONLY
    power: Positive = 2.0

    def rate(self, step: int) -> float:
        if step >= self.steps:
            return self.final
        return self.final + (self.base - self.final) * (1 - step / self.steps) ** self.power


@dataclass(frozen=True)
class Linear(_ToFinal):
    """From base to final in a straight line: `base + (final - base) * t/T` with T = steps, then
    held at `final`. It may rise as well as fall.

    >>> linear(0.5, final=0.25, steps=2).values(0, 4)
    [0.5, 0.375, 0.25, 0.25]
    """

    kind: ClassVar[str] = "linear"
    formula: ClassVar[str] = "base + (final - base) * t/steps, final for t > steps"
    example: ClassVar[str] = "linear(0.3, final=0.01, steps=20)"

    def rate(self, step: int) -> float:
        if step >= self.steps:
            return self.final
        return self.base + (self.final - self.base) * (step / self.steps)


@dataclass(frozen=True)
class Cosine(_ToFinal):
    """From base to final along half a cosine:
    `final + (base - final) * (1 + cos(pi * t/T)) / 2` with T = steps, then held at `final`.

    >>> [round(lr, 3) for lr in cosine(0.3, final=0.01, steps=4).values(0, 6)]
    [0.3, 0.258, 0.155, 0.052, 0.01, 0.01]
    """

    kind: ClassVar[str] = "cosine"
    formula: ClassVar[str] = (
        "final + (base - final) * (1 + cos(pi * t/steps)) / 2, final for t > steps"
    )
    example: ClassVar[str] = "cosine(0.3, final=0.01, steps=20)"

    def rate(self, step: int) -> float:
        if step >= self.steps:
            return self.final
        wave = (1 + math.cos(math.pi * step / self.steps)) / 2
        return self.final + (self.base - self.final) * wave


constant = Constant
multi_factor = MultiFactor
polynomial = Polynomial
linear = Linear
cosine = Cosine
