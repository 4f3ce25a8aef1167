"""Closed forms against the plans themselves, counted transfer by transfer."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep.errors import InputError
from lockstep.experiments.allreduce.algorithms import ALGORITHMS
from lockstep.experiments.allreduce.cost import Hosts, Link, predict
from lockstep.experiments.scaling.loads import LOADS, exchange_seconds, find_loads

every_algorithm = pytest.mark.parametrize("name", ALGORITHMS)
# of a like size, so that which term decides depends on the case
LINK, INNER = Link(3e-6, 1e6, adding=2e6, shared=6e6), 2.5e6


@every_algorithm
@settings(deadline=None, max_examples=150)
@given(k=st.integers(1, 17), n=st.integers(0, 70), h=st.integers(1, 9))
def test_equal_to_counting_the_plan(name: str, k: int, n: int, h: int) -> None:
    """The same terms added in another order: equal but for rounding."""
    hosts = Hosts(h, INNER)
    expected = predict(ALGORITHMS[name](k, n), 4, LINK, hosts)
    assert exchange_seconds(name, k, n, 4, LINK, hosts) == pytest.approx(expected, rel=1e-12)


@every_algorithm
def test_equal_where_many_devices_have_long_parts(name: str) -> None:
    for k, n, h in ((32, 1000, 4), (33, 999, 8), (48, 500, 5)):
        plan = ALGORITHMS[name](k, n)
        hosts = Hosts(h, INNER)
        expected = predict(plan, 8, LINK, hosts)
        assert exchange_seconds(name, k, n, 8, LINK, hosts) == pytest.approx(expected, rel=1e-12)
        assert sum(load.times for load in find_loads(name, k, n, h)) == plan.num_rounds
        moved = sum(load.times * load.total for load in find_loads(name, k, n, h))
        assert moved == sum(plan.sent) == 2 * n * (k - 1)


def test_a_server_of_its_own_for_each_is_no_server_at_all() -> None:
    for algorithm in ALGORITHMS.values():
        for k in (2, 5, 8):
            plan = algorithm(k, 100)
            assert predict(plan, 4, LINK, Hosts(1)) == predict(plan, 4, LINK)


def test_a_ring_crosses_a_server_once_in_each_direction() -> None:
    """So servers of any size take as long as one device behind each link: 2 S (k-1)/k / B."""
    link = Link(0.0, 1e9)
    alone = exchange_seconds("ring", 512, 512_000, 4, link, Hosts())
    assert alone == pytest.approx(2 * 511 / 512 * 4 * 512_000 / 1e9, rel=1e-12)
    assert exchange_seconds("ring", 512, 512_000, 4, link, Hosts(4)) == pytest.approx(alone)
    assert exchange_seconds("ring", 512, 512_000, 4, link, Hosts(512, 1e12)) < alone / 900


def test_halving_doubling_shares_the_link_of_a_server() -> None:
    """4 devices of a server exchange with 4 others at once, over one link, in all rounds but the
    two between themselves: k = 16 with halves S/2 and S/4 out, S/8 and S/16 inside."""
    size, link = 4 * 1600, Link(0.0, 1e9)
    found = exchange_seconds("halving_doubling", 16, 1600, 4, link, Hosts(4, 1e9))
    assert found == pytest.approx(2 * size / 1e9 * (4 / 2 + 4 / 4 + 1 / 8 + 1 / 16), rel=1e-12)


def test_hundreds_of_devices_at_once() -> None:
    """A plan over 512 devices has half a million transfers: seconds. This is under 2 ms each."""
    begin = time.process_time()
    for name in LOADS:
        for k in (2, 8, 64, 511, 512):
            assert exchange_seconds(name, k, 44_427, 4, Link(5e-6, 3e9), Hosts(4, 12e9)) > 0
    assert time.process_time() - begin < 1


def test_every_algorithm_has_its_form() -> None:
    assert list(LOADS) == list(ALGORITHMS)
    with pytest.raises(InputError, match="Did you mean 'ring'"):
        find_loads("rign", 2, 4)
    with pytest.raises(InputError, match=r"devices = 0: is not a number of devices"):
        find_loads("ring", 0, 4)
    with pytest.raises(InputError, match=r"per-host = 0: is not a number of devices"):
        Hosts(0)
