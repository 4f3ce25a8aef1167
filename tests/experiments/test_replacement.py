"""Drawing with and without replacement: what an epoch misses, and what that costs."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from lockstep.experiments.replacement import LOSS, ORDERS, RATES, chart, never_seen, runs, tables
from lockstep.experiments.runs import Runs, Work
from lockstep.report.curves import curve
from lockstep.report.tables import TextTable

EXAMPLES = 300
SEEDS = 4


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    changes = {"framework": "numpy", "data.source": "generated", "data.max_examples": EXAMPLES}
    work = Work(tmp_path_factory.mktemp("replacement"), changes=changes, num_seeds=SEEDS)
    return work.carry_out(run for run in runs(None) if not run.label.startswith("b=1,"))


def test_the_share_that_an_epoch_never_sees(found: Runs) -> None:
    """Each example is missed with probability (1 - 1/n)^n; ten epochs of 300 draws are counted."""
    missed = (1 - 1 / EXAMPLES) ** EXAMPLES
    deviation = math.sqrt(missed * (1 - missed) / (10 * EXAMPLES))
    for run in found:
        drawn = run.spec.data.order == "with_replacement"  # type: ignore[attr-defined]
        expected, tolerance = (missed, 5 * deviation) if drawn else (0.0, 0.0)
        assert abs(never_seen(run) - expected) <= tolerance, run.label
    assert missed == pytest.approx(1 / math.e, rel=2e-3)


@pytest.mark.parametrize("batch_size", [10, 100])
def test_at_the_end_of_an_epoch_the_shuffled_order_is_nearer_to_the_best(
    found: Runs, batch_size: int
) -> None:
    """The noise of batches that make up the whole set cancels; that of independent draws adds up.
    Nearer: the mean over seeds of how far the loss is above that of least squares."""
    above = {
        name: np.mean([_above(run) for run in found.of(f"b={batch_size}, {name}")])
        for name in ORDERS.values()
    }
    assert above["shuffled"] < above["with replacement"] / 2
    assert above["shuffled"] > 0


def _above(run: object) -> float:
    from lockstep.data.airfoil import generate

    data = generate(EXAMPLES, seed=run.spec.seed, dtype="float64")  # type: ignore[attr-defined]
    x = np.hstack([data.x, np.ones((EXAMPLES, 1))])
    residual = data.y - x @ np.linalg.lstsq(x, data.y, rcond=None)[0]
    return run.metrics[LOSS] - float((residual**2).mean() / 2)  # type: ignore[attr-defined]


def test_the_figure_and_the_table_show_what_was_measured(found: Runs) -> None:
    panels = {panel.title: panel for panel in chart(found).panels}
    assert list(panels) == [f"batches of {b}" for b in RATES]
    labels = [series.label for series in panels["batches of 10"].series]
    assert labels == list(ORDERS.values())
    one = panels["batches of 10"].series[0]
    curves = [curve(run, LOSS, "epoch")[1] for run in found.of("b=10, shuffled")]
    np.testing.assert_allclose(one.y, np.mean(curves, axis=0))
    (table,) = tables(found)
    assert isinstance(table, TextTable)
    assert [row[0] for row in table.rows] == found.labels
    shown = float(table.rows[0][2])
    assert shown == pytest.approx(found.mean("b=10, shuffled", LOSS), rel=1e-3)


def test_the_quick_form_has_fewer_examples(tmp_path: Path) -> None:
    from lockstep.experiments import get

    quick = Work(tmp_path, quick=get("replacement").quick).planned(runs(None))
    assert {run.spec.data.max_examples for run in quick} == {300}  # type: ignore[attr-defined]
    assert len(quick) == len(ORDERS) * len(RATES)
