"""Bad fields are refused by name, with the value and a remedy; good ones are stored in one type."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from lockstep.errors import InputError
from lockstep.schedules import (
    constant,
    cosine,
    cosine_restarts,
    exponential,
    factor,
    inverse_power,
    inverse_time,
    join,
    linear,
    multi_factor,
    one_cycle,
    plateau,
    polynomial,
    square_root,
    triangular,
)

BAD: list[tuple[Callable[[], object], str, str]] = [
    (lambda: constant(-0.1), "base", "is negative"),
    (lambda: constant(float("nan")), "base", "is not finite"),
    (lambda: constant(10**400), "base", "is not finite"),
    (lambda: constant("0.1"), "base", "is not a number"),
    (lambda: constant(True), "base", "is not a number"),
    (lambda: square_root(float("inf")), "base", "is not finite"),
    (lambda: factor(1.0, factor=0.0), "factor", "above 0 and at most 1"),
    (lambda: factor(1.0, factor=1.1), "factor", "above 0 and at most 1"),
    (lambda: factor(0.1, factor=0.9, floor=0.2), "floor", "is above base = 0.1"),
    (lambda: multi_factor(1.0, milestones=[30, 15], factor=0.5), "milestones", "ascending"),
    (lambda: multi_factor(1.0, milestones=[15, 15], factor=0.5), "milestones", "ascending"),
    (lambda: multi_factor(1.0, milestones=[1.5], factor=0.5), "milestones", "whole number"),
    (lambda: multi_factor(1.0, milestones=15, factor=0.5), "milestones", "list of steps"),
    (lambda: multi_factor(1.0, milestones=[-1], factor=0.5), "milestones", "at least 0"),
    (lambda: polynomial(1.0, steps=0), "steps", "at least 1"),
    (lambda: polynomial(1.0, steps=9, power=0), "power", "above 0"),
    (lambda: linear(1.0, final=-1.0, steps=9), "final", "is negative"),
    (lambda: cosine(1.0, steps=-3), "steps", "at least 1"),
    (lambda: cosine(1.0, steps=2.0), "steps", "whole number"),
    (lambda: cosine_restarts(1.0, steps=9, period_factor=0), "period_factor", "at least 1"),
    (lambda: cosine_restarts(1.0, steps=9, peak_factor=2.0), "peak_factor", "at most 1"),
    (lambda: exponential(1.0, decay=-0.5), "decay", "above 0"),
    (lambda: exponential(1.0, decay=0.5, staircase=1), "staircase", "True nor False"),
    (lambda: inverse_power(1.0, exponent=0.0), "exponent", "above 0"),
    (lambda: inverse_time(1.0, decay=0.0), "decay", "above 0"),
    (lambda: one_cycle(1.0, steps=3, rise=0.3), "rise", "no step to rise"),
    (lambda: one_cycle(1.0, steps=30, rise=1.0), "rise", "below 1"),
    (lambda: one_cycle(1.0, steps=30, start_divisor=0.5), "start_divisor", "at least 1"),
    (lambda: one_cycle(1.0, steps=30, shape="cos"), "shape", "Did you mean 'cosine'"),
    (lambda: triangular(0.5, peak=0.1, up=3), "base", "is above peak = 0.1"),
    (lambda: triangular(0.1, peak=0.5, up=3, down=0), "down", "at least 1"),
    (lambda: triangular(0.1, peak=0.5, up=3, gamma=0.9), "gamma", "has no effect"),
    (lambda: constant(1.0).warmup(-1), "steps", "at least 0"),
    (lambda: constant(1.0).warmup(3, start=-1.0), "start", "is negative"),
    (lambda: constant(1.0).warmup(3, mode="linaer"), "mode", "Did you mean 'linear'"),
    (lambda: join([constant(1.0)], boundaries=[3]), "boundaries", "1 entries for 1 schedules"),
    (lambda: join([], boundaries=[]), "boundaries", "0 entries for 0 schedules"),
    (lambda: join([constant(1.0)] * 2, boundaries=[0]), "boundaries", "at least 1"),
    (lambda: join([constant(1.0), 0.5], boundaries=[3]), "schedules", "is not a schedule"),
    (lambda: plateau(0.1, factor=1.0), "factor", "below 1"),
    (lambda: plateau(0.1, patience=-1), "patience", "at least 0"),
    (lambda: plateau(0.1, threshold=1.0), "threshold", "fall by all of itself"),
    (lambda: plateau(0.1, mode="most"), "mode", "is not known"),
    (lambda: plateau(0.1, floor=0.2), "floor", "is above base"),
]


@pytest.mark.parametrize(("build", "field", "problem"), BAD)
def test_a_bad_field_is_named(build: Callable[[], object], field: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        build()
    assert caught.value.field == f"schedule.{field}"
    assert problem in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize("step", [-1, 1.5, "3", True, None])
def test_a_bad_step_is_refused(step: object) -> None:
    with pytest.raises(InputError, match=r"^step = ") as caught:
        constant(0.1)(step)  # type: ignore[arg-type]
    assert caught.value.remedy == "Steps are counted 0, 1, 2, ..."


def test_a_backward_range_is_refused() -> None:
    with pytest.raises(InputError, match="stop = 3: is before start = 5"):
        constant(0.1).values(5, 3)


def test_numbers_of_any_type_are_stored_as_float_int_and_tuple() -> None:
    given = multi_factor(np.float32(0.5), milestones=np.array([15, 30]), factor=1)
    assert given == multi_factor(0.5, milestones=(15, 30), factor=1.0)
    assert type(given.base) is float
    assert [type(step) for step in given.milestones] == [int, int]
    assert type(given(np.int64(20))) is float


def test_schedules_are_frozen_and_hashable() -> None:
    schedule = cosine(0.3, steps=20).warmup(5)
    with pytest.raises(AttributeError, match="cannot assign to field"):
        schedule.steps = 6  # type: ignore[misc]
    assert len({schedule, cosine(0.3, steps=20).warmup(5)}) == 1
