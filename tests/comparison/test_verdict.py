"""The verdict functions against hand-made deviations, and by property."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.comparison.verdict import (
    FLOOR,
    Verdict,
    first_difference,
    judge_parameters,
    judge_steps,
    loss_moved,
    parameter_deviations,
    relative_deviation,
    tolerances,
)
from lockstep.errors import InputError

losses = st.lists(st.floats(0.01, 100.0), min_size=1, max_size=50).map(np.array)


@given(losses, st.data())
def test_a_deviation_is_found_at_exactly_its_step(oracle: np.ndarray, data: st.DataObject) -> None:
    step = data.draw(st.integers(0, len(oracle) - 1))
    values = oracle.copy()
    values[step:] *= 1 + 1e-3
    verdict = judge_steps("loss", values, oracle, 1e-4)
    assert verdict.step == step
    assert verdict.largest == pytest.approx(1e-3, rel=1e-6)
    assert not verdict.agree


@given(losses, st.floats(-1, 1))
def test_deviations_within_tolerance_agree(oracle: np.ndarray, share: float) -> None:
    values = oracle * (1 + 0.99e-4 * share)
    verdict = judge_steps("loss", values, oracle, 1e-4)
    assert verdict.agree
    # the formula itself, written once more without the floor, which these losses do not reach
    if oracle.min() > FLOOR * oracle.max():
        expected = float(np.max(np.abs(values - oracle) / oracle))
        assert verdict.largest == pytest.approx(expected, rel=1e-12)


@given(losses, st.data(), st.sampled_from([math.nan, math.inf, -math.inf]))
def test_what_is_not_finite_is_beyond_tolerance(
    oracle: np.ndarray, data: st.DataObject, bad: float
) -> None:
    step = data.draw(st.integers(0, len(oracle) - 1))
    values = oracle.copy()
    values[step] = bad
    for one, other in ((values, oracle), (oracle, values)):
        verdict = judge_steps("loss", one, other, 1e-4)
        assert verdict.step == step
        assert verdict.largest == math.inf


@given(losses, st.data())
def test_a_run_that_ends_early_parts_at_the_first_missing_step(
    oracle: np.ndarray, data: st.DataObject
) -> None:
    length = data.draw(st.integers(0, len(oracle) - 1))
    for one, other in ((oracle[:length], oracle), (oracle, oracle[:length])):
        verdict = judge_steps("loss", one, other, 1e-4)
        assert verdict.step == length
        assert verdict.largest == math.inf


def test_an_earlier_deviation_comes_before_a_missing_step() -> None:
    assert judge_steps("loss", np.array([1.0, 9.0]), np.array([1.0, 2.0, 3.0]), 1e-4).step == 1


def test_runs_that_diverge_at_the_same_step_agree_whatever_was_recorded() -> None:
    oracle = np.array([1.0, 2.0, 4.0, 8.0])
    assert judge_steps("loss", oracle[:2], oracle, 1e-4, ends=(6, 6)).agree
    assert judge_steps("loss", oracle[:2], oracle, 1e-4, ends=(5, 6)).step == 5


def test_nothing_compared_is_nothing_proved() -> None:
    assert not judge_steps("loss", np.array([]), np.array([]), 1e-4).agree
    assert not judge_parameters({}, {}, 1e-4, num_steps=3).agree


def test_rounding_of_a_vanished_loss_is_not_a_deviation() -> None:
    """From 1 to 1e-20: what is left is rounding; from 1 to 1e-3 it is still the path."""
    oracle = np.array([1.0, 1e-3, 1e-20])
    assert relative_deviation(np.array([1.0, 1e-3, 3e-20]), oracle)[2] < 1e-12
    assert relative_deviation(np.array([1.0, 1.1e-3, 1e-20]), oracle)[1] == pytest.approx(0.1)


def test_one_wrong_entry_of_a_large_array_is_seen() -> None:
    oracle = {"w": np.ones(10_000), "b": np.zeros(3)}
    values = {"w": oracle["w"].copy(), "b": oracle["b"].copy()}
    values["w"][77] += 0.01
    verdict = judge_parameters(values, oracle, 1e-3, num_steps=9)
    assert (verdict.where, verdict.step) == ("w", 9)
    assert verdict.largest == pytest.approx(0.01)


def test_entries_near_zero_do_not_count_rounding() -> None:
    oracle = {"w": np.array([1.0, 1e-18]), "b": np.array([1e-19])}
    values = {"w": np.array([1.0, -1e-18]), "b": np.array([-1e-19])}
    assert judge_parameters(values, oracle, 1e-9, num_steps=1).agree


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"w": np.zeros((2, 1))},
        {"w": np.array([1.0, math.nan])},
        {"w": np.ones(2), "v": np.ones(1)},
    ],
    ids=["missing", "shape", "nan", "extra"],
)
def test_arrays_that_cannot_be_compared_deviate_infinitely(values: dict[str, np.ndarray]) -> None:
    deviations = parameter_deviations(values, {"w": np.ones(2)})
    assert max(deviations.values()) == math.inf


def test_integer_arrays_are_compared_too() -> None:
    assert parameter_deviations({"n": np.array([3])}, {"n": np.array([2])})["n"] == 0.5


@pytest.mark.parametrize(
    ("before", "after", "tolerance", "moved"),
    [
        (0.5, 0.25, 1e-9, True),
        (0.25, 0.5, 1e-9, True),
        (0.5, 0.5, 1e-9, False),
        (0.5, 0.5004, 1e-9, False),
        (0.5, 0.501, 1e-9, True),
        (0.5, 0.501, 1e-3, False),  # ten times the tolerance is asked for
        (0.5, math.inf, 1e-9, True),
        (math.nan, 0.5, 1e-9, False),
    ],
)
def test_loss_moved(before: float, after: float, tolerance: float, moved: bool) -> None:
    assert loss_moved(before, after, tolerance) is moved


def test_first_difference_names_the_earliest_and_then_the_cause() -> None:
    loss = Verdict("loss", 1.0, 0.1, 4, "step 4")
    norm = Verdict("gradient norm", 1.0, 0.1, 4, "step 4")
    weights = Verdict("parameters", 1.0, 0.1, 60, "w")
    fine = Verdict("loss", 0.0, 0.1, None, "step 0")
    assert first_difference([weights, norm, loss]) is loss
    assert first_difference([fine, weights, norm]) is norm
    assert first_difference([fine]) is None


def test_tolerances_follow_the_precision_or_what_was_asked() -> None:
    assert tolerances("float32")["loss"] == 1e-4
    assert tolerances("float64")["loss"] == 1e-9
    asked = tolerances("float64", 1e-3)
    assert asked["parameters"] == pytest.approx(1e-2)
    for bad in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(InputError, match="tolerance"):
            tolerances("float64", bad)
