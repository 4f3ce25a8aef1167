"""Batch sizes: each gets its best rate, and where larger ones stop to gain."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("jax")

from lockstep.experiments.batch_size import (
    GOAL,
    LOSS,
    RATES,
    Answer,
    Question,
    chart,
    reached,
    run,
    tables,
)
from lockstep.experiments.runs import Work
from lockstep.report.curves import curve

SIZES = (8, 64, 512)


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    work = Work(tmp_path_factory.mktemp("sizes"), changes={"framework": "numpy"})
    return run(Question(SIZES), work)


def test_every_size_is_measured_with_the_rate_that_was_best_for_it(answer: Answer) -> None:
    for size, measured in zip(SIZES, answer.measured, strict=True):
        swept = answer.sweeps[measured.label, 0]
        assert {row.spec.batch_size for row in swept.rows} == {size}
        assert [row.settings["lr"] for row in swept.rows] == RATES
        losses = [row.metrics.get(LOSS, math.inf) for row in swept.rows]
        best = swept.rows[int(np.argmin(losses))]
        assert measured.spec.schedule == best.spec.schedule
        # another framework trained all rates at once, in float32
        np.testing.assert_allclose(measured.history[:, "loss"], best.losses, rtol=1e-4, atol=1e-5)


def test_all_see_the_same_number_of_examples_and_the_rate_grows_with_the_batch(
    answer: Answer,
) -> None:
    assert {run.spec.epochs for run in answer.measured} == {3}
    chosen = [float(one.history[0, "lr"]) for one in answer.measured]
    assert chosen == sorted(chosen)
    assert chosen[-1] > 10 * chosen[0]


def test_where_the_goal_is_reached(answer: Answer) -> None:
    """Fewer steps for larger batches; what is told is the first place below the goal."""
    steps = []
    for one in answer.measured:
        places, loss = curve(one, LOSS, "examples")
        first = reached(one, "examples")
        assert first is not None
        assert loss[places == first] < GOAL
        assert (loss[places < first] >= GOAL).all()
        steps.append(first / one.spec.batch_size)
    assert steps == sorted(steps, reverse=True)
    assert steps[-1] < steps[0] / 10


def test_what_is_shown(answer: Answer) -> None:
    (table,) = tables(answer)
    assert [row[0] for row in table.rows] == ["b=8", "b=64", "b=512"]  # type: ignore[union-attr]
    by_examples, *_, to_goal, _ = chart(answer).panels
    assert by_examples.x_log
    assert list(to_goal.series[0].x) == list(SIZES)
