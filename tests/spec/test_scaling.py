"""A larger batch with a learning rate to go with it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lockstep as ls
from lockstep.errors import InputError
from lockstep.spec import scale_batch
from lockstep.spec.batch_scaling import base_rate


@given(
    factor=st.integers(1, 64),
    base=st.floats(1e-4, 10.0),
    rule=st.sampled_from([("none", 0.0), ("linear", 1.0), ("square_root", 0.5)]),
    warmup=st.integers(0, 5),
)
def test_rate_and_batch_grow_as_the_rule_says(
    factor: int, base: float, rule: tuple[str, float], warmup: int
) -> None:
    """lr * k^p, reached in a straight line from lr."""
    before = ls.recipes.fashion_lenet(schedule=ls.cosine(base, final=0.0, steps=10))
    after = scale_batch(before, factor, rule[0], warmup)
    top = base * factor ** rule[1]
    assert after.batch_size == 256 * factor
    assert after.schedule(warmup) == pytest.approx(top)
    for t in range(warmup):
        assert after.schedule(t) == pytest.approx(base + (top - base) * t / warmup)
    for t in range(12):
        assert after.schedule(warmup + t) == pytest.approx(
            top * (1 + math.cos(math.pi * min(t, 10) / 10)) / 2, abs=1e-12
        )


def test_the_same_run_but_for_batch_and_rate() -> None:
    before = ls.recipes.timemachine_gru()
    names = {name for name, _, _ in ls.diff(before, scale_batch(before, 3, "square_root"))}
    assert names == {"batch_size", "schedule.base"}


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ({"factor": 0}, "factor = 0"),
        ({"rule": "cubic"}, "rule = 'cubic'"),
        ({"warmup": -1}, "warmup = -1"),
    ],
)
def test_mistakes_are_named(values: dict, match: str) -> None:
    with pytest.raises(InputError, match=match):
        scale_batch(ls.recipes.fashion_lenet(), **{"factor": 2, **values})


def test_what_has_no_base_or_no_place_for_a_warmup() -> None:
    joined = ls.join([ls.constant(0.1), ls.constant(0.2)], boundaries=[5])
    with pytest.raises(InputError, match="schedule = 'join': has several base rates"):
        base_rate(joined)
    plateau = ls.recipes.fashion_lenet(schedule=ls.plateau(0.1))
    assert scale_batch(plateau, 2).schedule.base == 0.2
    with pytest.raises(InputError, match="does not go before a plateau"):
        scale_batch(plateau, 2, warmup=3)
