"""Every kind against its formula, written here a second time, at t = 0 and around W and T.

Tolerance 1e-14 relative: both sides are float64 and differ only in the order of a few operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import pytest

from lockstep.schedules import (
    KINDS,
    Schedule,
    constant,
    cosine,
    cosine_restarts,
    exponential,
    factor,
    format_schedule,
    inverse_power,
    inverse_time,
    join,
    linear,
    multi_factor,
    one_cycle,
    polynomial,
    square_root,
    triangular,
)

T, W = 20, 5


def half_cosine(t: float, length: float) -> float:
    return math.cos(math.pi * t / length / 2) ** 2  # = (1 + cos(pi t / length)) / 2


def restarts(t: int) -> float:
    begin, period, peak = {True: (0, 8, 1.0), False: (8, 16, 0.5)}[t < 8]
    return 0.01 + 0.29 * peak * half_cosine(t - begin, period)


def cycle_height(t: int) -> float:
    """Rise in 4 steps, fall in 6, twice; read off the corners by interpolation."""
    corners = [(0, 0.0), (4, 1.0), (10, 0.0), (14, 1.0), (20, 0.0), (24, 1.0)]
    for (a, y0), (b, y1) in pairwise(corners):
        if a <= t <= b:
            return y0 + (y1 - y0) * (t - a) / (b - a)
    raise AssertionError(t)


def rise_and_fall(t: int, bend: Callable[[float], float]) -> float:
    """Top at 0.3 * 20 - 1 = 5, end at 19."""
    if t <= 5:
        return 0.012 + (0.3 - 0.012) * bend(t / 5)
    return 0.3 + (0.012 / 1e4 - 0.3) * bend(min(1, (t - 5) / 14))


CASES: list[tuple[Schedule, Callable[[int], float]]] = [
    (constant(0.3), lambda t: 0.3),
    (square_root(0.1), lambda t: 0.1 / math.sqrt(t + 1)),
    (factor(2.0, factor=0.9, floor=0.3), lambda t: max(0.3, 2 * math.exp(t * math.log(0.9)))),
    (
        multi_factor(0.5, milestones=[W, T], factor=0.5),
        lambda t: 0.5 if t < W else 0.25 if t < T else 0.125,
    ),
    (
        polynomial(0.3, final=0.01, steps=T, power=3),
        lambda t: 0.01 + 0.29 * ((T - min(t, T)) / T) ** 3,
    ),
    (linear(0.3, final=0.01, steps=T), lambda t: (0.3 * (T - min(t, T)) + 0.01 * min(t, T)) / T),
    (cosine(0.3, final=0.01, steps=T), lambda t: 0.01 + 0.29 * half_cosine(min(t, T), T)),
    (cosine_restarts(0.3, final=0.01, steps=8, period_factor=2, peak_factor=0.5), restarts),
    (cosine_restarts(1.0, steps=10), lambda t: half_cosine(t % 10, 10)),
    (exponential(0.3, decay=0.5, steps=T), lambda t: 0.3 * 2 ** (-t / T)),
    (
        exponential(0.3, decay=0.5, steps=T, staircase=True),
        lambda t: 0.3 if t < T else 0.15,
    ),
    (inverse_power(0.3, exponent=0.25), lambda t: 0.3 / math.sqrt(math.sqrt(t + 1))),
    (inverse_time(0.3, decay=0.5, steps=4), lambda t: 0.3 * 8 / (8 + t)),
    (
        inverse_time(0.3, decay=0.5, steps=T, staircase=True),
        lambda t: 0.3 if t < T else 0.2,
    ),
    (
        one_cycle(0.3, steps=T),
        lambda t: rise_and_fall(t, lambda part: math.sin(math.pi * part / 2) ** 2),
    ),
    (one_cycle(0.3, steps=T, shape="linear"), lambda t: rise_and_fall(t, lambda part: part)),
    (triangular(0.1, peak=0.5, up=4, down=6), lambda t: 0.1 + 0.4 * cycle_height(t)),
    (
        triangular(0.1, peak=0.5, up=4, down=6, mode="triangular2"),
        lambda t: 0.1 + 0.4 * cycle_height(t) / (1 if t < 10 else 2 if t < 20 else 4),
    ),
    (
        triangular(0.1, peak=0.5, up=4, down=6, mode="exp_range", gamma=0.9),
        lambda t: 0.1 + 0.4 * cycle_height(t) * math.exp(t * math.log(0.9)),
    ),
    (
        cosine(0.3, final=0.01, steps=T - W).warmup(W),
        lambda t: 0.06 * t if t < W else 0.01 + 0.29 * half_cosine(min(t, T) - W, T - W),
    ),
    (constant(0.3).warmup(W, start=0.1), lambda t: 0.1 + 0.04 * t if t < W else 0.3),
    (constant(0.3).warmup(W, start=0.1, mode="constant"), lambda t: 0.1 if t < W else 0.3),
    (
        join([constant(0.1), linear(0.4, steps=15), square_root(0.2)], boundaries=[W, T]),
        lambda t: 0.1 if t < W else 0.4 * (T - t) / 15 if t < T else 0.2 / math.sqrt(t - T + 1),
    ),
]
NAMES = [format_schedule(schedule) for schedule, _ in CASES]


@pytest.mark.parametrize("t", [0, 1, W - 1, W, W + 1, 8, T - 1, T, T + 1])
@pytest.mark.parametrize(("schedule", "formula"), CASES, ids=NAMES)
def test_formula(schedule: Schedule, formula: Callable[[int], float], t: int) -> None:
    assert schedule(t) == pytest.approx(formula(t), rel=1e-14, abs=1e-16)


def test_every_schedule_kind_has_a_formula_here() -> None:
    assert {schedule.kind for schedule, _ in CASES} == set(KINDS) - {"plateau"}


def test_final_rates_are_reached_exactly() -> None:
    for schedule in (
        polynomial(0.3, final=0.01, steps=T),
        linear(0.3, final=0.01, steps=T),
        cosine(0.3, final=0.01, steps=T),
    ):
        assert schedule.values(T, T + 3) == [0.01] * 3
        assert schedule(T - 1) > 0.01


def test_the_chapter_settings() -> None:
    """Values of the schedules chapter, 30 epochs; worked out by hand from its settings."""
    assert square_root(0.1)(24) == pytest.approx(0.02)
    falling = factor(2.0, factor=0.9, floor=0.01)
    assert falling.values(0, 3) == pytest.approx([2.0, 1.8, 1.62])
    assert falling(50) == pytest.approx(2 * 0.9**50)
    assert falling(51) == 0.01  # 2 * 0.9^51 = 0.00928
    steps = multi_factor(0.5, milestones=[15, 30], factor=0.5)
    assert steps.values(0, 31) == [0.5] * 15 + [0.25] * 15 + [0.125]
    plain = cosine(0.3, final=0.01, steps=20)
    assert plain.values(20, 30) == [0.01] * 10
    assert plain(10) == pytest.approx(0.155)
    warm = cosine(0.3, final=0.01, steps=15).warmup(5)  # 5 of the 20 epochs are warm-up
    assert warm.values(0, 6) == pytest.approx([0, 0.06, 0.12, 0.18, 0.24, 0.3])
    assert warm(10) == pytest.approx(0.01 + 0.29 * 0.75)  # a third of the way: cos(pi/3) = 1/2
    assert warm.values(20, 30) == [0.01] * 10


def test_a_growing_exponential_serves_a_range_test_and_ends_in_an_error() -> None:
    growing = exponential(1e-5, decay=10.0, steps=20)
    assert growing(100) == pytest.approx(1.0)
    with pytest.raises(ValueError, match=r"schedule.decay = 10.0: has grown past .* step 6280"):
        growing(6280)
