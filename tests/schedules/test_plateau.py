"""ReduceOnPlateau against PyTorch's ReduceLROnPlateau, evaluation by evaluation, and its state."""

from __future__ import annotations

import json
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep.errors import InputError
from lockstep.schedules import PlateauState, plateau

metrics = st.floats(-3, 3, width=16) | st.just(math.nan)


@settings(deadline=None)  # a shared machine pauses
@given(
    st.lists(metrics, max_size=40),
    st.sampled_from(["min", "max"]),
    st.sampled_from(["rel", "abs"]),
    st.integers(0, 3),
    st.integers(0, 3),
    st.sampled_from([0.0, 1e-4, 0.3]),
    st.sampled_from([0.0, 0.02]),
)
def test_rates_are_those_of_torch(
    losses: list[float],
    mode: str,
    threshold_mode: str,
    patience: int,
    cooldown: int,
    threshold: float,
    floor: float,
) -> None:
    shared = {
        "factor": 0.5,
        "patience": patience,
        "cooldown": cooldown,
        "threshold": threshold,
        "threshold_mode": threshold_mode,
        "mode": mode,
    }
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    theirs = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, min_lr=floor, **shared)
    ours = plateau(0.1, floor=floor, **shared)
    state = ours.start()
    for loss in losses:
        theirs.step(loss)
        state = ours.update(state, loss)
        assert state.lr == optimizer.param_groups[0]["lr"]
        assert state.num_bad == theirs.num_bad_epochs
        assert state.cooldown_left == theirs.cooldown_counter
        assert state.best == (theirs.best if math.isfinite(theirs.best) else None)


def test_the_rate_falls_step_by_step_to_its_floor() -> None:
    rule = plateau(0.4, factor=0.5, patience=1, floor=0.15)
    state, rates = rule.start(), []
    for _ in range(8):
        state = rule.update(state, 1.0)
        rates.append(state.lr)
    assert rates == [0.4, 0.4, 0.2, 0.2, 0.15, 0.15, 0.15, 0.15]


@pytest.mark.parametrize("losses", [[], [1.0, 2.0], [math.nan]])
def test_the_state_survives_json(losses: list[float]) -> None:
    rule = plateau(0.1, patience=0, cooldown=2)
    state = rule.start()
    for loss in losses:
        state = rule.update(state, loss)
    stored = json.dumps(state.to_dict(), allow_nan=False)
    assert PlateauState.from_dict(json.loads(stored)) == state


def test_infinity_is_never_the_best() -> None:
    rule = plateau(0.1, mode="max")
    assert rule.update(rule.start(), math.inf) == PlateauState(0.1, None, 1, 0)


def test_a_bad_state_is_refused() -> None:
    with pytest.raises(InputError, match=r"is not a plateau state\. Give what"):
        PlateauState.from_dict({"lr": 0.1})
    with pytest.raises(InputError, match="Did you mean 'best'"):
        PlateauState.from_dict({"lr": 0.1, "bset": 1.0, "num_bad": 0, "cooldown_left": 0})
