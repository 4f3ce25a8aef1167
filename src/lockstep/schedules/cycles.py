"""Schedules that rise again: cosine with restarts, one cycle and triangular cycles. Pure formulas;
the cycle a step lies in is computed from the step, never counted."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Annotated, ClassVar

from lockstep.checks import one_of, whole
from lockstep.schedules import fields
from lockstep.schedules.base import Schedule
from lockstep.schedules.fields import Divisor, Fraction, ProperFraction, Rate, Steps


def _steps_or_none(field: str, value: object) -> int | None:
    return None if value is None else whole(field, value, most=None)


@dataclass(frozen=True)
class CosineRestarts(Schedule):
    """Cosine falls with warm restarts (SGDR): cycle i = 0, 1, ... lasts
    `T_i = steps * period_factor^i` steps and, s steps into it, the rate is
    `final + (base - final) * peak_factor^i * (1 + cos(pi * s/T_i)) / 2`.

    >>> [round(lr, 2) for lr in cosine_restarts(1.0, steps=2, period_factor=2).values(0, 7)]
    [1.0, 0.5, 1.0, 0.85, 0.5, 0.15, 1.0]
    """

    kind: ClassVar[str] = "cosine_restarts"
    formula: ClassVar[str] = (
        "final + (base - final) * peak_factor^i * (1 + cos(pi * s/T_i)) / 2, "
        "s steps into cycle i of T_i = steps * period_factor^i steps"
    )
    example: ClassVar[str] = "cosine_restarts(0.3, final=0.01, steps=10, period_factor=2)"
    settled = None
    base: Rate
    _: KW_ONLY
    final: Rate = 0.0
    steps: Steps
    period_factor: Steps = 1
    peak_factor: Fraction = 1.0

    def rate(self, step: int) -> float:
        cycle, inside, period = self._cycle(step)
        wave = (1 + math.cos(math.pi * inside / period)) / 2
        return self.final + (self.base - self.final) * self.peak_factor**cycle * wave

    def _cycle(self, step: int) -> tuple[int, int, int]:
        """The cycle, the steps into it and its length."""
        if self.period_factor == 1:
            return step // self.steps, step % self.steps, self.steps
        cycle, period = 0, self.steps
        while step >= period:  # log(step) turns: each cycle is at least twice the last
            step -= period
            period *= self.period_factor
            cycle += 1
        return cycle, step, period

    @property
    def marks(self) -> tuple[int, ...]:
        lengths = [self.steps * self.period_factor**i for i in range(3)]
        return lengths[0], sum(lengths[:2]), sum(lengths)


@dataclass(frozen=True)
class OneCycle(Schedule):
    """One rise and one long fall. With T = steps and the top at `u = rise * T - 1`, the rate goes
    from `base / start_divisor` at 0 to `base` at u, then to
    `base / (start_divisor * final_divisor)` at T - 1, where it stays; `shape` is the curve of both
    parts: half a cosine or a straight line. `base` is the peak.

    >>> schedule = one_cycle(1.0, steps=10, rise=0.3, start_divisor=25.0, shape="linear")
    >>> [round(lr, 2) for lr in schedule.values(0, 11)]
    [0.04, 0.52, 1.0, 0.86, 0.71, 0.57, 0.43, 0.29, 0.14, 0.0, 0.0]
    """

    kind: ClassVar[str] = "one_cycle"
    formula: ClassVar[str] = (
        "base/start_divisor at 0, base at rise*steps - 1, "
        "base/(start_divisor*final_divisor) from steps - 1 on; cosine or linear between"
    )
    example: ClassVar[str] = "one_cycle(0.3, steps=30, rise=0.3)"
    base: Rate
    _: KW_ONLY
    steps: Steps
    rise: ProperFraction = 0.3
    start_divisor: Divisor = 25.0
    final_divisor: Divisor = 10_000.0
    shape: Annotated[str, partial(one_of, known=("cosine", "linear"))] = "cosine"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rise * self.steps <= 1:
            problem = f"leaves no step to rise in: rise * steps = {self.rise * self.steps:g}"
            raise fields.error("rise", self.rise, problem, "Make rise * steps greater than 1.")

    def rate(self, step: int) -> float:
        low, top, last = self.base / self.start_divisor, self.rise * self.steps - 1, self.steps - 1
        if step <= top:
            return self._between(low, self.base, step / top)
        end = low / self.final_divisor
        if step >= last:
            return end
        return self._between(self.base, end, (step - top) / (last - top))

    def _between(self, begin: float, end: float, part: float) -> float:
        if self.shape == "linear":
            return begin + (end - begin) * part
        return end + (begin - end) * (1 + math.cos(math.pi * part)) / 2

    @property
    def settled(self) -> int:
        return self.steps - 1

    @property
    def marks(self) -> tuple[int, ...]:
        top = math.floor(self.rise * self.steps - 1)
        return (top, self.steps - 1) if 0 < top < self.steps - 1 else (self.steps - 1,)


@dataclass(frozen=True)
class Triangular(Schedule):
    """Cycles of `up` steps from base to peak and `down` steps back (`down` is `up` unless given):
    `base + (peak - base) * h * scale`, where h goes 0 -> 1 -> 0 in each cycle i and scale is
    1 (mode "triangular"), `2^-i` ("triangular2") or `gamma^t` ("exp_range").

    >>> triangular(0.25, peak=0.75, up=2).values(0, 6)
    [0.25, 0.5, 0.75, 0.5, 0.25, 0.5]
    """

    kind: ClassVar[str] = "triangular"
    formula: ClassVar[str] = (
        "base + (peak - base) * h * scale, h: 0 -> 1 in up steps, 1 -> 0 in down steps; "
        "scale: 1, 2^-i in cycle i (triangular2) or gamma^t (exp_range)"
    )
    example: ClassVar[str] = 'triangular(0.01, peak=0.3, up=10, mode="triangular2")'
    settled = None
    base: Rate
    _: KW_ONLY
    peak: Rate
    up: Steps
    down: Annotated[int | None, _steps_or_none] = None
    mode: Annotated[str, partial(one_of, known=("triangular", "triangular2", "exp_range"))] = (
        "triangular"
    )
    gamma: Fraction = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        fields.not_above(self, "base", "peak")
        if self.gamma != 1 and self.mode != "exp_range":
            problem = f"has no effect in mode {self.mode!r}"
            raise fields.error("gamma", self.gamma, problem, 'Set mode="exp_range" or leave it.')

    def rate(self, step: int) -> float:
        down = self.up if self.down is None else self.down
        cycle, inside = divmod(step, self.up + down)
        height = inside / self.up if inside <= self.up else (self.up + down - inside) / down
        return self.base + (self.peak - self.base) * height * self._scale(step, cycle)

    def _scale(self, step: int, cycle: int) -> float:
        if self.mode == "triangular":
            return 1.0
        return 0.5**cycle if self.mode == "triangular2" else self.gamma**step

    @property
    def marks(self) -> tuple[int, ...]:
        cycle = self.up + (self.up if self.down is None else self.down)
        return self.up, cycle, cycle + self.up, 2 * cycle


cosine_restarts = CosineRestarts
one_cycle = OneCycle
triangular = Triangular
