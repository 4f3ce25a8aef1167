"""Events as lines of JSON, the history gathered from them, and the rates of a run."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.errors import InputError
from lockstep.schedules import constant, cosine, plateau
from lockstep.training.events import (
    CheckpointSaved,
    EpochCompleted,
    Event,
    LearningRateSet,
    ProgramCompiled,
    RunCompleted,
    RunDiverged,
    RunInterrupted,
    RunStarted,
    StepsCompleted,
    StepsEvaluated,
    from_json,
    to_json,
)
from lockstep.training.history import History
from lockstep.training.rates import Rates

# --- events -------------------------------------------------------------------------------------

whole = st.integers(0, 10**12)
real = st.floats()  # nan and both infinities among them
words = st.one_of(st.text(), st.sampled_from(["nan", "inf", "-inf", "\u2028\n"]))
reals = st.lists(real, max_size=4)
EVENTS = st.one_of(
    st.builds(RunStarted, whole, whole, whole, st.dictionaries(words, words, max_size=3)),
    st.builds(ProgramCompiled, real, st.lists(words, max_size=3)),
    st.builds(StepsCompleted, whole, whole, reals, reals, reals, real),
    st.builds(EpochCompleted, whole, whole, st.dictionaries(words, real, max_size=3), real),
    st.builds(StepsEvaluated, whole, whole, st.dictionaries(words, real, max_size=3), real),
    st.builds(LearningRateSet, whole, st.one_of(st.none(), real)),
    st.builds(CheckpointSaved, whole, words),
    st.builds(RunDiverged, whole, real, real, whole),
    st.builds(RunInterrupted, whole),
    st.builds(RunCompleted, whole, real),
)


@given(EVENTS)
def test_an_event_survives_its_line(event: Event) -> None:
    """Every number to the last bit; repr tells nan from nan's text, and -0.0 from 0.0."""
    line = to_json(event)
    assert "\n" not in line
    back = from_json(line)
    assert type(back) is type(event)
    assert repr(dataclasses.astuple(back)) == repr(dataclasses.astuple(event))
    json.loads(line, parse_constant=pytest.fail)  # strict JSON: no NaN, no Infinity


@pytest.mark.parametrize(
    "line", ['{"event": "Unheard"}', '{"step": 1}', '{"event": "RunInterrupted", "stop": 1}']
)
def test_an_event_of_another_version(line: str) -> None:
    with pytest.raises(InputError, match="another version"):
        from_json(line)


# --- history ------------------------------------------------------------------------------------


def steps(first: int, losses: list[float], epoch: int = 0, seconds: float = 1.0) -> StepsCompleted:
    count = len(losses)
    return StepsCompleted(first, epoch, losses, [2.0] * count, [0.5] * count, seconds)


def test_rows_and_columns() -> None:
    history = History([steps(0, [3.0, 2.0]), steps(2, [1.0], epoch=1)])
    assert len(history) == 3
    assert history[:, "loss"].tolist() == [3.0, 2.0, 1.0]
    assert history[-1, "loss"] == 1.0
    assert history[1:, "epoch"].tolist() == [0.0, 1.0]
    assert history[[0, 2], "grad_norm"].tolist() == [2.0, 2.0]
    assert history[:, "lr"].dtype == np.float64
    with pytest.raises(InputError, match=r"column = 'los'.*Did you mean 'loss'"):
        history[:, "los"]


def test_steps_seen_before_are_replaced() -> None:
    history = History([steps(0, [5.0, 4.0]), steps(2, [9.0, 9.0], seconds=4.0)])
    history(steps(3, [2.0, 1.0], seconds=1.0))
    assert history[:, "loss"].tolist() == [5.0, 4.0, 9.0, 2.0, 1.0]
    assert history.seconds == 1.0 + 2.0 + 1.0  # half of the second call's time went with a step
    assert history.step_rates().tolist() == [0.5, 2.0]  # without the first call, the warm-up


def test_steps_that_a_log_lost_are_not_a_number() -> None:
    history = History([steps(0, [5.0]), steps(3, [2.0])])
    assert [math.isnan(loss) for loss in history[:, "loss"]] == [False, True, True, False]
    assert history[3, "loss"] == 2.0


def test_metrics_are_the_newest_of_each() -> None:
    history = History()
    assert history.metrics == {}
    history(steps(0, [5.0, 4.0]))
    history(EpochCompleted(0, 2, {"train_loss": 4.5, "test_loss": 4.0}, 1.0))
    history(steps(2, [3.0, 2.0], epoch=1))
    history(EpochCompleted(1, 4, {"train_loss": 2.5}, 2.0))
    assert history.metrics == {"train_loss": 2.5, "test_loss": 4.0, "loss": 2.0}
    history(EpochCompleted(1, 4, {"train_loss": 2.0}, 2.0))  # gone through again
    assert [e.metrics["train_loss"] for e in history.epochs] == [4.5, 2.0]


def test_compiling_is_kept_apart_from_steps() -> None:
    history = History([ProgramCompiled(7.0, ["eager steps"]), steps(0, [1.0])])
    assert (history.compile_seconds, history.seconds) == (7.0, 1.0)
    assert history.notes == ["eager steps"]


# --- rates --------------------------------------------------------------------------------------


def test_rates_by_step_and_by_epoch() -> None:
    schedule = cosine(0.3, final=0.01, steps=20)
    by_step = Rates(schedule, "step").lrs(5, 3, epoch=2)
    # the formula of the schedule, in float64
    expected = [0.01 + 0.29 * (1 + math.cos(math.pi * t / 20)) / 2 for t in (5, 6, 7)]
    assert by_step == pytest.approx(expected, rel=1e-15)
    assert by_step.dtype == np.float64
    by_epoch = Rates(schedule, "epoch").lrs(5, 3, epoch=2)
    assert by_epoch.tolist() == [schedule(2)] * 3


def test_a_rate_by_hand_goes_before_the_schedule_and_into_the_state() -> None:
    rates = Rates(constant(0.1), "step")
    assert rates.to_dict() == {}
    rates.set_by_hand(0.5)
    again = Rates(constant(0.1), "step", json.loads(json.dumps(rates.to_dict())))
    assert again.lrs(0, 2, 0).tolist() == [0.5, 0.5]
    again.set_by_hand(None)
    assert again.lrs(0, 1, 0).tolist() == [0.1]


def test_the_plateau_goes_into_the_state_and_reads_one_metric_only() -> None:
    rates = Rates(plateau(0.1, factor=0.5, patience=0), "step")
    rates.observe({"train_loss": 1.0, "test_loss": 7.0}, "test_loss")
    rates.observe({"train_loss": 2.0}, "test_loss")  # not measured: no news
    assert rates.lrs(0, 1, 0).tolist() == [0.1]
    again = Rates(
        plateau(0.1, factor=0.5, patience=0), "step", json.loads(json.dumps(rates.to_dict()))
    )
    again.observe({"train_loss": 1.0, "test_loss": 8.0}, "test_loss")
    assert again.lrs(0, 1, 0).tolist() == [0.05]
