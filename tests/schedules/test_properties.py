"""What holds for every schedule, checked on generated ones: purity, bounds, continuity of warm-up,
and text and tables that read back equal."""

from __future__ import annotations

import json
import random
import tomllib

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep.errors import InputError
from lockstep.schedules import (
    AnySchedule,
    ReduceOnPlateau,
    Schedule,
    as_schedule,
    format_schedule,
    parse_schedule,
    schedule_from_dict,
    schedule_to_dict,
)
from lockstep.schedules.combine import Join, Warmup
from lockstep.schedules.cycles import CosineRestarts, OneCycle, Triangular
from lockstep.schedules.decays import Exponential, Factor, InversePower, InverseTime, SquareRoot
from lockstep.schedules.finite import Constant, Cosine, Linear, MultiFactor, Polynomial

calm = settings(deadline=None)  # a shared machine pauses
rates = st.floats(0, 10)
fractions = st.floats(0.01, 1)
lengths = st.integers(1, 60)
rising = st.lists(st.integers(1, 100), max_size=4, unique=True).map(sorted)
low_high = st.lists(rates, min_size=2, max_size=2).map(sorted)

leaves: st.SearchStrategy[Schedule] = st.one_of(
    st.builds(Constant, rates),
    st.builds(SquareRoot, rates),
    st.builds(
        lambda pair, factor: Factor(pair[1], factor=factor, floor=pair[0]), low_high, fractions
    ),
    st.builds(MultiFactor, rates, milestones=rising, factor=fractions),
    st.builds(Polynomial, rates, final=rates, steps=lengths, power=st.floats(0.1, 5)),
    st.builds(Linear, rates, final=rates, steps=lengths),
    st.builds(Cosine, rates, final=rates, steps=lengths),
    st.builds(
        CosineRestarts,
        rates,
        final=rates,
        steps=lengths,
        period_factor=st.integers(1, 3),
        peak_factor=fractions,
    ),
    st.builds(Exponential, rates, decay=fractions, steps=lengths, staircase=st.booleans()),
    st.builds(InversePower, rates, exponent=st.floats(0.1, 5)),
    st.builds(InverseTime, rates, decay=fractions, steps=lengths, staircase=st.booleans()),
    st.builds(
        OneCycle,
        rates,
        steps=st.integers(12, 60),
        rise=st.floats(0.1, 0.9),
        start_divisor=st.floats(1, 100),
        final_divisor=st.floats(1, 1e5),
        shape=st.sampled_from(["cosine", "linear"]),
    ),
    st.builds(
        lambda pair, up, down, mode: Triangular(pair[0], peak=pair[1], up=up, down=down, mode=mode),
        low_high,
        lengths,
        st.none() | lengths,
        st.sampled_from(["triangular", "triangular2"]),
    ),
    st.builds(
        lambda pair, up, gamma: Triangular(
            pair[0], peak=pair[1], up=up, mode="exp_range", gamma=gamma
        ),
        low_high,
        lengths,
        fractions,
    ),
)


@st.composite
def joins(draw: st.DrawFn, parts: st.SearchStrategy[Schedule]) -> Join:
    boundaries = draw(rising)
    count = len(boundaries) + 1
    return Join(
        draw(st.lists(parts, min_size=count, max_size=count)),  # type: ignore[arg-type]
        boundaries=boundaries,  # type: ignore[arg-type]
    )


def warmups(parts: st.SearchStrategy[Schedule]) -> st.SearchStrategy[Schedule]:
    modes = st.sampled_from(["linear", "constant"])
    return st.builds(Warmup, parts, st.integers(0, 30), start=rates, mode=modes)


schedules = st.recursive(leaves, lambda parts: warmups(parts) | joins(parts), max_leaves=4)
plateaus = st.builds(
    lambda pair, **rest: ReduceOnPlateau(pair[1], floor=pair[0], **rest),
    low_high,
    factor=st.floats(0.01, 0.99),
    patience=st.integers(0, 9),
    threshold=st.floats(0, 0.5),
    threshold_mode=st.sampled_from(["rel", "abs"]),
    mode=st.sampled_from(["min", "max"]),
    cooldown=st.integers(0, 9),
)
steps = st.integers(0, 400)


def bounds(schedule: Schedule) -> tuple[float, float]:
    """The lowest and highest rate the fields allow."""
    match schedule:
        case Warmup():
            low, high = bounds(schedule.schedule)
            return min(low, schedule.start), max(high, schedule.start)
        case Join():
            each = [bounds(part) for part in schedule.schedules]
            return min(low for low, _ in each), max(high for _, high in each)
        case Polynomial() | Linear() | Cosine() | CosineRestarts():
            return min(schedule.base, schedule.final), max(schedule.base, schedule.final)
        case Factor():
            return schedule.floor, schedule.base
        case Triangular():
            return schedule.base, schedule.peak
        case _:
            return 0.0, schedule.base  # type: ignore[attr-defined]


@calm
@given(schedules, steps)
def test_rates_stay_within_their_bounds(schedule: Schedule, step: int) -> None:
    low, high = bounds(schedule)
    slack = 1e-12 * high  # rounding of a few float64 operations
    assert low - slack <= schedule(step) <= high + slack


@calm
@given(schedules, st.lists(steps, max_size=12), st.randoms())
def test_order_of_calls_does_not_matter(
    schedule: Schedule, asked: list[int], order: random.Random
) -> None:
    expected = {step: schedule(step) for step in asked}
    shuffled = asked * 2
    order.shuffle(shuffled)
    assert [schedule(step) for step in shuffled] == [expected[step] for step in shuffled]


@calm
@given(schedules, steps, st.integers(0, 80))
def test_values_are_the_pointwise_rates(schedule: Schedule, start: int, count: int) -> None:
    pointwise = [schedule(step) for step in range(start, start + count)]
    assert schedule.values(start, start + count) == pointwise


@calm
@given(schedules, steps)
def test_a_settled_schedule_stays_settled(schedule: Schedule, more: int) -> None:
    if schedule.settled is not None:
        assert schedule(schedule.settled + more) == schedule(schedule.settled)


@calm
@given(schedules)
def test_marks_ascend_and_reach_the_settled_step(schedule: Schedule) -> None:
    marks = schedule.marks
    assert marks
    assert list(marks) == sorted(set(marks))
    assert marks[0] >= 0
    if schedule.settled is not None:
        assert marks[-1] >= schedule.settled


@calm
@given(schedules, st.integers(1, 30), rates)
def test_linear_warmup_climbs_evenly_into_the_schedule(
    schedule: Schedule, length: int, start: float
) -> None:
    warm = schedule.warmup(length, start=start)
    rise = (schedule(0) - start) / length
    climbs = [warm(step + 1) - warm(step) for step in range(length)]  # the last one ends at W
    assert climbs == pytest.approx([rise] * length, abs=1e-13)  # a few ulp of rates below 10
    assert warm.values(length, length + 9) == schedule.values(0, 9)


@calm
@given(schedules | plateaus)
def test_text_reads_back_equal(schedule: AnySchedule) -> None:
    text = format_schedule(schedule)
    assert parse_schedule(text) == schedule
    assert format_schedule(parse_schedule(text)) == text


@calm
@given(schedules | plateaus)
def test_tables_read_back_equal_through_toml_and_json(schedule: AnySchedule) -> None:
    table = schedule_to_dict(schedule)
    assert schedule_from_dict(table) == schedule
    assert as_schedule(tomllib.loads(tomli_w.dumps({"schedule": table}))["schedule"]) == schedule
    assert as_schedule(json.loads(json.dumps(table, allow_nan=False))) == schedule


@calm
@given(st.text() | st.text(alphabet="cosine(0.3, =steps)[]{}'\"\\-.warmup#\n", max_size=40))
def test_any_text_is_read_or_refused_with_a_remedy(text: str) -> None:
    try:
        found: AnySchedule | InputError = parse_schedule(text)
    except InputError as wrong:
        found = wrong
    if isinstance(found, InputError):
        assert found.remedy
    else:
        assert parse_schedule(format_schedule(found)) == found
