"""Every algorithm sums every buffer exactly once, on any number of devices and any length; and what
it moves is what its formula says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep.errors import InputError
from lockstep.experiments.allreduce.algorithms import ALGORITHMS, get
from lockstep.experiments.allreduce.local_plans import execute
from lockstep.experiments.allreduce.transfers import Plan, Transfer, arrivals

from .checking import check_plan

calm = settings(deadline=None)  # a shared machine pauses
devices, lengths = st.integers(1, 9), st.integers(0, 50)
every_algorithm = pytest.mark.parametrize("name", ALGORITHMS)


def ceil(n: int, k: int) -> int:
    return -(-n // k)


# --- what is summed -------------------------------------------------------------------------------


@every_algorithm
@calm
@given(k=devices, n=lengths)
def test_every_device_counts_once_everywhere(name: str, k: int, n: int) -> None:
    """Device d brings 10^d: a sum of ones in decimal shows who was counted, and how often."""
    plan = check_plan(ALGORITHMS[name](k, n))
    buffers = [np.full(n, 10**d, dtype=np.int64) for d in range(k)]
    traffic = execute(plan, buffers)
    for buffer in buffers:
        np.testing.assert_array_equal(buffer, np.full(n, int("1" * k)))
    assert traffic.sent == tuple(8 * count for count in plan.sent)
    assert traffic.received == tuple(8 * count for count in plan.received)
    assert traffic.num_rounds == plan.num_rounds


@every_algorithm
@calm
@given(k=devices, n=lengths, seed=st.integers(0, 2**32 - 1))
def test_sums_of_floats(name: str, k: int, n: int, seed: int) -> None:
    """Against NumPy in float64: k - 1 additions err by at most (k - 1) eps of the sum of sizes.
    All devices have the same bits, and a second run has them again."""
    values = np.random.default_rng(seed).normal(size=(k, n)).astype(np.float32)
    exact = values.astype(np.float64).sum(axis=0)
    limit = (k - 1) * np.finfo(np.float32).eps * np.abs(values).sum(axis=0, dtype=np.float64)
    runs = []
    for _ in range(2):
        buffers = [row.copy() for row in values]
        execute(ALGORITHMS[name](k, n), buffers)
        runs += [buffer.tobytes() for buffer in buffers]
        assert (np.abs(buffers[0] - exact) <= limit).all()
    assert len(set(runs)) == 1


@calm
@given(k=devices, n=lengths, seed=st.integers(0, 2**32 - 1))
def test_the_chapters_sums_bit_for_bit(k: int, n: int, seed: int) -> None:
    """Rank order, x_0 + x_1 + ..., in all three that add a part in one place."""
    values = np.random.default_rng(seed).normal(size=(k, n)).astype(np.float32)
    expected = values[0].copy()
    for row in values[1:]:
        expected += row
    for name in ("gather_broadcast", "star", "sharded"):
        buffers = [row.copy() for row in values]
        execute(ALGORITHMS[name](k, n), buffers)
        assert all(buffer.tobytes() == expected.tobytes() for buffer in buffers), name


# --- what is moved --------------------------------------------------------------------------------


@every_algorithm
@calm
@given(k=devices, n=lengths)
def test_all_move_as_much_in_total(name: str, k: int, n: int) -> None:
    plan = ALGORITHMS[name](k, n)
    assert sum(plan.sent) == sum(plan.received) == 2 * n * (k - 1)


@calm
@given(k=st.integers(2, 9), n=lengths)
def test_ring_and_sharded_send_no_more_than_they_say(k: int, n: int) -> None:
    assert max(ALGORITHMS["ring"](k, n).sent) <= 2 * (n - n // k)
    assert max(ALGORITHMS["sharded"](k, n).sent) <= n + (k - 2) * ceil(n, k)


@calm
@given(k=st.integers(2, 9), part=st.integers(1, 9))
def test_where_the_length_divides_all_send_alike(k: int, part: int) -> None:
    """2 S (k-1)/k, by every device, sent and received."""
    n = k * part
    for name in ("ring", "sharded"):
        plan = ALGORITHMS[name](k, n)
        assert set(plan.sent) == set(plan.received) == {2 * n * (k - 1) // k}


@calm
@given(k=st.integers(2, 9), part=st.integers(1, 9))
def test_rounds_and_largest_as_tabulated(k: int, part: int) -> None:
    p = 2 ** int(math.log2(k))
    n = k * p * part
    log, inner, folds = math.ceil(math.log2(k)), int(math.log2(p)), int(p < k)
    expected = {
        "gather_broadcast": (2 * (k - 1), n * (k - 1)),
        "star": (2, n * (k - 1)),
        "sharded": (2, 2 * n * (k - 1) // k),
        "ring": (2 * (k - 1), 2 * n * (k - 1) // k),
        "tree": (2 * log, n * log),
        "halving_doubling": (2 * inner + 2 * folds, 2 * n * (p - 1) // p + n * folds),
    }
    plans = {name: algorithm(k, n) for name, algorithm in ALGORITHMS.items()}
    assert {name: (q.num_rounds, max(q.sent)) for name, q in plans.items()} == expected


@every_algorithm
def test_nothing_is_moved_where_there_is_nothing_to_move(name: str) -> None:
    assert ALGORITHMS[name](5, 0).rounds == ()
    assert ALGORITHMS[name](1, 7).rounds == ()


# --- what is refused ------------------------------------------------------------------------------


@every_algorithm
def test_impossible_plans(name: str) -> None:
    with pytest.raises(InputError, match="devices = 0"):
        ALGORITHMS[name](0, 4)
    with pytest.raises(InputError, match="-1: is negative"):
        ALGORITHMS[name](2, -1)


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(InputError, match=r"algorithm = 'rign': .* Did you mean 'ring'"):
        get("rign")


@pytest.mark.parametrize(
    ("transfers", "problem"),
    [
        ([Transfer(0, 2, 0, 4, True)], "does not join two of 2 devices"),
        ([Transfer(1, 1, 0, 4, True)], "does not join two of 2 devices"),
        ([Transfer(0, 1, 2, 5, True)], "has no part of 4 elements"),
        ([Transfer(0, 1, 2, 2, True)], "has no part of 4 elements"),
        ([Transfer(0, 1, 0, 2, True), Transfer(1, 0, 1, 3, True)], "writes what it sends"),
        ([Transfer(0, 1, 0, 2, True), Transfer(0, 1, 2, 4, True)], "go the same way"),
    ],
)
def test_plans_that_break_the_rules(transfers: list[Transfer], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        check_plan(Plan(2, 4, (tuple(transfers),)))


@pytest.mark.parametrize(
    ("second", "problem"),
    [((0, 4, False), "two copies of one part"), ((2, 4, False), "receives parts that overlap")],
)
def test_parts_that_collide(second: tuple[int, int, bool], problem: str) -> None:
    collision = Transfer(0, 2, 0, 4, False), Transfer(1, 2, *second)
    with pytest.raises(InputError, match=problem):
        check_plan(Plan(3, 4, (collision,)))


def test_arrivals_are_in_the_order_of_ranks() -> None:
    (found,) = arrivals(tuple(Transfer(source, 1, 0, 4, True) for source in (3, 0, 2)))
    assert (found.target, found.sources, found.num_below) == (1, (0, 2, 3), 1)
