"""Schedules made of schedules: warm-up before one, and several joined end to end. Each part keeps
its own clock, which starts at 0 where the part begins."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Annotated, ClassVar

from lockstep.checks import listed, one_of
from lockstep.errors import InputError
from lockstep.schedules import fields
from lockstep.schedules.base import Schedule
from lockstep.schedules.fields import Rate, StepsOrZero


def _part(field: str, value: object) -> Schedule:
    if not isinstance(value, Schedule):
        remedy = "Give a schedule such as constant(0.1); plateau() cannot be part of another."
        raise InputError(field, value, "is not a schedule of the step alone", remedy)
    return value


def _parts(field: str, value: object) -> tuple[Schedule, ...]:
    return tuple(_part(field, part) for part in listed(field, value, Join.example))


@dataclass(frozen=True)
class Warmup(Schedule):
    """Warm-up, then the wrapped schedule from its beginning. With W = steps and `base` the first
    rate of the wrapped schedule: `start + (base - start) * t/W` for t < W (mode "linear"), or
    `start` for t < W (mode "constant"); from W on, `schedule(t - W)`. Usually written as a method.

    >>> from lockstep.schedules import cosine
    >>> chapter = cosine(0.3, final=0.01, steps=15).warmup(5)  # 20 epochs: 5 up, 15 down
    >>> [round(chapter(t), 3) for t in (0, 1, 4, 5, 6, 20, 21)]
    [0.0, 0.06, 0.24, 0.3, 0.297, 0.01, 0.01]
    """

    kind: ClassVar[str] = "warmup"
    formula: ClassVar[str] = (
        "start + (base - start) * t/steps for t < steps (constant: start), then schedule(t - steps)"
    )
    example: ClassVar[str] = "cosine(0.3, final=0.01, steps=15).warmup(5)"
    schedule: Annotated[Schedule, _part]
    steps: StepsOrZero
    _: KW_ONLY
    start: Rate = 0.0
    mode: Annotated[str, partial(one_of, known=("linear", "constant"))] = "linear"

    def rate(self, step: int) -> float:
        if step >= self.steps:
            return self.schedule.rate(step - self.steps)
        if self.mode == "constant":
            return self.start
        return self.start + (self.schedule.rate(0) - self.start) * step / self.steps

    @property
    def settled(self) -> int | None:
        inner = self.schedule.settled
        return None if inner is None else self.steps + inner

    @property
    def marks(self) -> tuple[int, ...]:
        return _distinct([self.steps, *(self.steps + mark for mark in self.schedule.marks)])


@dataclass(frozen=True)
class Join(Schedule):
    """Schedules one after another: part k runs from boundary k - 1 (included; 0 for the first) to
    boundary k (excluded), as `schedules[k](t - boundary)`. Boundaries are steps, ascending.

    >>> from lockstep.schedules import constant, linear
    >>> join([constant(0.1), linear(0.4, steps=2)], boundaries=[2]).values(0, 6)
    [0.1, 0.1, 0.4, 0.2, 0.0, 0.0]
    """

    kind: ClassVar[str] = "join"
    formula: ClassVar[str] = "schedules[k](t - boundaries[k-1]) from boundary k-1 on"
    example: ClassVar[str] = "join([constant(0.1), cosine(0.3, steps=15)], boundaries=[5])"
    schedules: Annotated[tuple[Schedule, ...], _parts]
    _: KW_ONLY
    boundaries: Annotated[tuple[int, ...], partial(fields.ascending, low=1)]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.schedules or len(self.boundaries) != len(self.schedules) - 1:
            problem = f"has {len(self.boundaries)} entries for {len(self.schedules)} schedules"
            remedy = "Give one boundary between each two schedules."
            raise fields.error("boundaries", list(self.boundaries), problem, remedy)

    def rate(self, step: int) -> float:
        part = bisect_right(self.boundaries, step)
        begin = self.boundaries[part - 1] if part else 0
        return self.schedules[part].rate(step - begin)

    @property
    def settled(self) -> int | None:
        last = self.schedules[-1].settled
        return None if last is None else self._begins()[-1] + last

    @property
    def marks(self) -> tuple[int, ...]:
        begins = self._begins()
        ends: list[float] = [*begins[1:], float("inf")]
        inner = [
            begin + mark
            for schedule, begin, end in zip(self.schedules, begins, ends, strict=True)
            for mark in schedule.marks
            if begin + mark < end
        ]
        return _distinct([*self.boundaries, *inner])

    def _begins(self) -> tuple[int, ...]:
        return 0, *self.boundaries


def _distinct(steps: list[int]) -> tuple[int, ...]:
    return tuple(sorted(set(steps)))


join = Join
