"""What every schedule is: a pure function step -> learning rate, in float64 on the host. Nothing
here knows about optimizers, frameworks or the unit (step or epoch) that a run counts in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from lockstep.checks import whole
from lockstep.errors import InputError
from lockstep.schedules import fields
from lockstep.showing import Picture, present

if TYPE_CHECKING:
    from pathlib import Path

    from lockstep.schedules.combine import Warmup


@dataclass(frozen=True)
class Schedule(ABC):
    """A learning rate for every step t = 0, 1, 2, ...; frozen, comparable and hashable.

    A kind gives its formula (`rate`), where it stops changing (`settled`) and which steps show its
    shape (`marks`); calling, listing and warming up are the same for all of them.

    >>> from lockstep.schedules import cosine
    >>> schedule = cosine(0.3, final=0.01, steps=20)
    >>> round(schedule(10), 12), schedule(20), schedule(1000)
    (0.155, 0.01, 0.01)
    """

    kind: ClassVar[str]
    formula: ClassVar[str]
    example: ClassVar[str]

    def __post_init__(self) -> None:
        fields.check(self)

    @abstractmethod
    def rate(self, step: int) -> float:
        """The formula, for a whole step >= 0."""

    @property
    @abstractmethod
    def settled(self) -> int | None:
        """The first step from which the rate never changes again; None if there is none."""

    @property
    @abstractmethod
    def marks(self) -> tuple[int, ...]:
        """Steps worth showing, ascending: where the formula changes its course, or, where it never
        does, a few that show how it falls. The last one is the schedule's natural length."""

    def __call__(self, step: int) -> float:
        """The learning rate that step `step` uses (the first step is 0).

        >>> from lockstep.schedules import square_root
        >>> square_root(0.1)(3)
        0.05
        """
        if type(step) is not int or step < 0:
            step = _step("step", step)
        return self.rate(step)

    def values(self, start: int, stop: int) -> list[float]:
        """The learning rates of steps start, ..., stop - 1.

        >>> from lockstep.schedules import linear
        >>> linear(0.5, steps=4).values(2, 6)
        [0.25, 0.125, 0.0, 0.0]
        """
        start, stop = _step("start", start), _step("stop", stop)
        if stop < start:
            raise InputError("stop", stop, f"is before start = {start}", "Give start <= stop.")
        rate, settled = self.rate, self.settled
        if settled is None or stop <= settled:
            return [rate(step) for step in range(start, stop)]
        # no Python per settled step: a constant over 1,500 steps costs one list
        moving = [rate(step) for step in range(start, settled)]
        return moving + [rate(settled)] * (stop - start - len(moving))

    def plot(self, path: str | Path | None = None, *, steps: int | None = None) -> Picture:
        """Show the learning rate of the first `steps` steps (the schedule's own length, unless
        given); with `path`, write the picture there instead."""
        picture: Picture = present("plot_schedule", self, path, steps)
        return picture

    def _repr_html_(self) -> str:
        html: str = present("schedule_html", self)
        return html

    def warmup(self, steps: int, start: float = 0.0, mode: str = "linear") -> Warmup:
        """This schedule after `steps` steps of warm-up; its own clock starts when they end.

        >>> from lockstep.schedules import constant
        >>> constant(0.5).warmup(4).values(0, 6)
        [0.0, 0.125, 0.25, 0.375, 0.5, 0.5]
        """
        from lockstep.schedules.combine import Warmup  # it is built on this class

        return Warmup(self, steps, start=start, mode=mode)


def _step(name: str, value: object) -> int:
    try:
        return whole(name, value, 0, most=None)
    except InputError as wrong:
        raise InputError(name, value, wrong.problem, "Steps are counted 0, 1, 2, ...") from None
