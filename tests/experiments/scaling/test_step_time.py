"""The step on k devices against timelines worked out by hand, and against bounds that must hold."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep.errors import InputError
from lockstep.experiments.allreduce.algorithms import ALGORITHMS
from lockstep.experiments.allreduce.cost import Hosts, Link
from lockstep.experiments.scaling.overlap import WAYS, Piece, Way, exposed, fill_buckets
from lockstep.experiments.scaling.step_time import Network, Profile, batch_sizes, estimate, fastest

ARRAYS_AFTER, BUCKETS_AFTER, ARRAYS_DURING, BUCKETS_DURING = WAYS

pieces_of = st.lists(st.tuples(st.integers(1, 1000), st.floats(0, 1)), min_size=1, max_size=8).map(
    lambda drawn: tuple(
        Piece(f"p{i}", length, ready)
        for i, (length, ready) in enumerate(sorted(drawn, key=lambda pair: pair[1]))
    )
)


# --- one step -------------------------------------------------------------------------------------


def test_a_timeline_by_hand() -> None:
    """Backward 10 s; a at 2 s takes 5 (to 7), b at 4 s waits and takes 5 (to 12), c at 10 s waits
    and takes 1 (to 13): 3 s are left over. After the backward pass: 11 s."""
    pieces = [Piece("a", 50, 0.2), Piece("b", 50, 0.4), Piece("c", 10, 1.0)]
    assert exposed(pieces, 10.0, lambda n: n / 10, overlapped=True) == pytest.approx(3.0)
    assert exposed(pieces, 10.0, lambda n: n / 10, overlapped=False) == pytest.approx(11.0)


def test_what_is_done_before_the_end_is_hidden() -> None:
    assert exposed([Piece("a", 5, 0.1)], 10.0, lambda n: 1.0, overlapped=True) == 0.0
    assert exposed([], 10.0, lambda n: 1.0, overlapped=True) == 0.0


@given(pieces=pieces_of, backward=st.floats(0, 1), latency=st.floats(0, 1))
def test_overlap_saves_at_most_the_backward_pass(
    pieces: tuple[Piece, ...], backward: float, latency: float
) -> None:
    def cost(length: int) -> float:
        return latency + length / 500

    after = exposed(pieces, backward, cost, overlapped=False)
    during = exposed(pieces, backward, cost, overlapped=True)
    assert after == pytest.approx(sum(cost(piece.length) for piece in pieces))
    assert max(0.0, after - backward) - 1e-9 <= during <= after + 1e-9
    last = pieces[-1]
    assert during >= last.ready * backward + cost(last.length) - backward - 1e-9


@given(pieces=pieces_of, limit=st.integers(0, 2500))
def test_buckets_lose_nothing(pieces: tuple[Piece, ...], limit: int) -> None:
    buckets = fill_buckets(pieces, limit)
    assert ", ".join(bucket.name for bucket in buckets) == ", ".join(p.name for p in pieces)
    assert sum(bucket.length for bucket in buckets) == sum(piece.length for piece in pieces)
    for bucket in buckets:
        names = bucket.name.split(", ")
        assert bucket.length <= limit or len(names) == 1
        assert bucket.ready == max(p.ready for p in pieces if p.name in names)
    for one, other in pairwise(buckets):
        first = next(p for p in pieces if p.name == other.name.split(", ")[0])
        assert one.length + first.length > limit  # it would not have fitted


def test_a_limit_of_nothing_is_array_by_array() -> None:
    pieces = [Piece("b", 3, 0.5), Piece("a", 4, 1.0)]
    assert fill_buckets(pieces, 0) == pieces
    assert fill_buckets(pieces, 7) == [Piece("b, a", 7, 1.0)]


# --- many devices ---------------------------------------------------------------------------------

PROFILE = Profile(
    "net",
    batch_size=12,
    seconds={12: 0.6, 6: 0.36, 4: 0.3},
    pieces=(Piece("fc", 9000, 0.1), Piece("conv", 3000, 1.0)),
    backward=0.5,
)


def test_weak_and_strong_by_hand() -> None:
    """A ring of 3 without latency at 120 KB/s: n elements take 2 (2/3) 4n / 120e3 s, 0.4 s for fc
    and 2/15 s for conv. Weak, backward from 0.3 to 0.6 s: fc is ready at 0.33, done at 0.73, conv
    at 0.8633. Strong, 4 examples in 0.3 s, backward from 0.15: fc 0.165 to 0.565, conv to 0.6983.
    """
    network = Network(Link(0.0, 120e3), bucket=0)
    weak, strong = estimate(PROFILE, [3], ["ring"], network)
    assert (weak.scaling, weak.batch_size, strong.scaling, strong.batch_size) == (
        "weak", 12, "strong", 4,
    )  # fmt: skip
    assert weak.steps[ARRAYS_DURING] == pytest.approx(0.33 + 0.4 + 2 / 15)
    assert weak.steps[ARRAYS_AFTER] == pytest.approx(0.6 + 0.4 + 2 / 15)
    assert strong.steps[ARRAYS_DURING] == pytest.approx(0.165 + 0.4 + 2 / 15)
    assert weak.speed_up(ARRAYS_DURING) == pytest.approx(3 * 0.6 / (0.73 + 2 / 15))
    assert weak.efficiency(ARRAYS_DURING) == pytest.approx(0.6 / (0.73 + 2 / 15))
    assert strong.speed_up(ARRAYS_DURING) == pytest.approx(0.6 / (0.565 + 2 / 15))
    assert strong.efficiency(ARRAYS_DURING) == pytest.approx(0.6 / (0.565 + 2 / 15) / 3)
    assert weak.exchange == pytest.approx(0.4 + 2 / 15)


def test_a_bucket_of_everything_pays_the_latency_once_and_waits_for_all() -> None:
    network = Network(Link(0.01, 120e3), bucket=48_000)
    weak, _ = estimate(PROFILE, [3], ["ring"], network)
    transfer = 2 * 2 / 3 * 48_000 / 120e3
    assert weak.steps[BUCKETS_AFTER] == pytest.approx(0.6 + transfer + 4 * 0.01)
    assert weak.steps[BUCKETS_DURING] == pytest.approx(0.6 + transfer + 4 * 0.01)
    assert weak.steps[ARRAYS_AFTER] == pytest.approx(0.6 + transfer + 8 * 0.01)


def test_one_device_is_the_measure() -> None:
    rows = estimate(PROFILE, [1], list(ALGORITHMS), Network(Link(1.0, 1.0)))
    assert {row.efficiency(way) for row in rows for way in WAYS} == {1.0}


@settings(deadline=None)
@given(
    k=st.integers(2, 600),
    name=st.sampled_from(list(ALGORITHMS)),
    latency=st.floats(0, 1e-3),
    per_host=st.integers(1, 8),
)
def test_bounds(k: int, name: str, latency: float, per_host: int) -> None:
    """Never faster than computing alone; waiting is never faster than overlapping; and at infinite
    bandwidth without latency weak scaling is perfect."""
    network = Network(Link(latency, 1e6), Hosts(per_host, 2e6), bucket=8000)
    (weak,) = estimate(PROFILE, [k], [name], network, ["weak"])
    assert min(weak.steps.values()) >= weak.compute
    assert weak.steps[BUCKETS_DURING] <= weak.steps[BUCKETS_AFTER] + 1e-12
    assert weak.steps[ARRAYS_DURING] <= weak.steps[ARRAYS_AFTER] + 1e-12
    assert 0 < weak.efficiency(ARRAYS_AFTER) <= 1
    (free,) = estimate(PROFILE, [k], [name], Network(Link(0.0, float("inf"))), ["weak"])
    assert free.speed_up(BUCKETS_DURING) == pytest.approx(k)


def test_batch_sizes_that_must_be_known() -> None:
    assert batch_sizes(12, [1, 2, 3, 64]) == [12, 6, 4, 1]
    assert batch_sizes(10, [3]) == [10, 4]  # the larger share decides


def test_fastest_is_not_the_most() -> None:
    """Strong scaling over a slow link: 2 devices would be slower than 1."""
    rows = estimate(PROFILE, [1, 2, 3], ["star"], Network(Link(0.0, 1e4)), ["strong"])
    assert fastest(rows).devices == 1
    rows = estimate(PROFILE, [1, 2, 3], ["star"], Network(Link(0.0, 1e9)), ["strong"])
    assert fastest(rows).devices == 3


def test_names_and_mistakes() -> None:
    assert [way.name for way in WAYS] == [
        "arrays, after", "buckets, after", "arrays, during", "buckets, during",
    ]  # fmt: skip
    assert Way(True, True) == BUCKETS_DURING
    with pytest.raises(InputError, match=r"seconds\[4\] = 0\.0: is no time of a step"):
        Profile("x", 4, {4: 0.0}, ())
    with pytest.raises(InputError, match=r"backward = 1\.5: is no share"):
        Profile("x", 4, {4: 1.0}, (), backward=1.5)
