"""The latency-bandwidth model against closed forms, and the fit against a link that is known."""

from __future__ import annotations

import math

import pytest

from lockstep.experiments.allreduce.algorithms import ALGORITHMS
from lockstep.experiments.allreduce.cost import ITEMSIZE, NUM_ROUNDS, PROBES, Link, fit, predict

from .checking import check_plan

A, B, G = 2e-5, 1e9, 5e9  # latency, bandwidth, adding


@pytest.mark.parametrize("k", [2, 4, 8])
def test_closed_forms_on_powers_of_two(k: int) -> None:
    """The textbook's: with S bytes and p = log2 k."""
    n = 64 * k
    size, p = 8 * n, int(math.log2(k))
    expected = {
        "gather_broadcast": 2 * (k - 1) * (A + size / B) + (k - 1) * size / G,
        "star": 2 * A + 2 * (k - 1) * size / B + (k - 1) * size / G,
        "sharded": 2 * A + (k - 1) / k * size * (2 / B + 1 / G),
        "ring": 2 * (k - 1) * A + (k - 1) / k * size * (2 / B + 1 / G),
        "tree": 2 * p * (A + size / B) + p * size / G,
        "halving_doubling": 2 * p * A + (k - 1) / k * size * (2 / B + 1 / G),
    }
    for name, algorithm in ALGORITHMS.items():
        assert predict(algorithm(k, n), 8, Link(A, B, G)) == pytest.approx(
            expected[name], rel=1e-12
        )


def test_a_shared_machine_makes_all_alike() -> None:
    """Where all devices together move no more than one alone, the total decides: 2 S (k-1)."""
    link = Link(0.0, bandwidth=B, shared=B)
    for algorithm in ALGORITHMS.values():
        found = predict(algorithm(4, 400), 4, link)
        assert found == pytest.approx(2 * 1600 * 3 / B, rel=1e-12)


def test_nothing_takes_no_time() -> None:
    assert predict(ALGORITHMS["ring"](1, 100), 4, Link(A, B)) == 0.0
    assert predict(ALGORITHMS["ring"](3, 0), 4, Link(A, B)) == 0.0


@pytest.mark.parametrize("k", [2, 3, 8])
def test_a_fit_finds_the_link_that_made_the_times(k: int) -> None:
    link = Link(1e-4, 2e9, 8e9, 2.5e9)
    times = {
        name: [predict(check_plan(probe.plan(k, probe.length)), ITEMSIZE, link)]
        for name, probe in PROBES.items()
    }
    found = fit(k, times)
    # rates are rounded to four digits
    assert found.latency == pytest.approx(link.latency, rel=1e-3)
    assert (found.bandwidth, found.adding) == pytest.approx((2e9, 8e9), rel=2e-3)
    moved = 2 * (k // 2) * 2e9  # all links together
    assert found.shared == pytest.approx(min(2.5e9, moved), rel=2e-3)


def test_noise_does_not_make_a_rate_negative() -> None:
    times = {"latency": [1e-3], "bandwidth": [5e-4], "adding": [4e-4], "shared": [1e-2]}
    found = fit(2, {name: [NUM_ROUNDS * t[0]] for name, t in times.items()})
    assert found.bandwidth == found.adding == math.inf
    assert found.shared > 0
