"""How fast a rate falls: the exponents' formulas, and a tenth at every epoch."""

from __future__ import annotations

import numpy as np
import pytest

from lockstep.experiments.decay import (
    AIRFOIL_EPOCHS,
    EPOCHS,
    LOSS,
    TENTHS,
    Question,
    chart,
    falling,
    parts,
    runs,
    tables,
)
from lockstep.experiments.runs import Runs, Work

EXAMPLES = 2600  # eleven batches an epoch, the last of them smaller


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    changes = {"framework": "numpy", "data.source": "generated"}
    work = Work(tmp_path_factory.mktemp("decay"), changes=changes)
    return work.carry_out(runs(Question(EXAMPLES)))


def test_the_rates_that_were_used(found: Runs) -> None:
    """The formulas, written once more."""
    images, airfoil = parts(found)
    num_steps = EPOCHS * 11
    t = np.arange(num_steps)
    expected = {
        "constant": 0.5 + 0 * t,
        "(t+1)^-0.25": 0.5 / np.sqrt(np.sqrt(t + 1)),
        "(t+1)^-0.5": 0.5 / np.sqrt(t + 1),
        "(t+1)^-1": 0.5 / (t + 1),
        "(1-t/T)^0.5": 0.5 * np.sqrt(1 - t / num_steps),
        "(1-t/T)^1": 0.5 * (1 - t / num_steps),
        "(1-t/T)^2": 0.5 * (1 - t / num_steps) ** 2,
    }
    assert {run.label for run in images} == set(expected) == set(falling(num_steps))
    for run in images:
        np.testing.assert_allclose(run.history[:, "lr"], expected[run.label], rtol=1e-12)
    tenth = 0.05 / 10.0 ** np.repeat(np.arange(AIRFOIL_EPOCHS), 150)
    np.testing.assert_allclose(airfoil[1].history[:, "lr"], tenth, rtol=1e-12)


def test_the_larger_the_exponent_the_less_is_learned(found: Runs) -> None:
    losses = [found.mean(f"(t+1)^-{p}", LOSS) for p in ("0.25", "0.5", "1")]
    assert losses == sorted(losses)
    assert losses[2] > 1.2 * losses[0]


def test_a_tenth_at_every_epoch_stands_still_after_two(found: Runs) -> None:
    """All steps after the second epoch together are as long as 1.7 steps of the first."""
    label = list(TENTHS)[1]
    ends = [epoch.metrics[LOSS] for epoch in found[label].history.epochs]
    assert abs(ends[-1] - ends[1]) < 0.002 * ends[1]
    assert ends[0] < 0.2 * found[label].history.evaluations[0].metrics[LOSS]


def test_what_is_shown(found: Runs) -> None:
    (table,) = tables(found)
    assert [row[0] for row in table.rows] == found.labels  # type: ignore[union-attr]
    panels = chart(found).panels
    assert [len(panel.series) for panel in panels] == [7, 7, 2, 2]
