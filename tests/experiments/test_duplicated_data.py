"""A doubled data set: gradient descent pays twice for the same path, minibatches do not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import lockstep as ls
from lockstep import recipes
from lockstep.experiments.duplicated_data import (
    DESCENT,
    EPOCHS,
    LOSS,
    MINIBATCH,
    RATES,
    SGD,
    Question,
    chart,
    loss_after,
    runs,
    tables,
)
from lockstep.experiments.runs import Runs, Work
from lockstep.task import assemble

EXAMPLES = 300


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    changes = {"framework": "numpy", "data.source": "generated"}
    work = Work(tmp_path_factory.mktemp("duplicated"), changes=changes)
    return work.carry_out(runs(Question(EXAMPLES)))


def test_gradient_descent_walks_the_same_path(found: Runs) -> None:
    one, two = (found[f"{DESCENT}, {name}"] for name in ("as it is", "doubled"))
    assert (one.spec.batch_size, two.spec.batch_size) == (EXAMPLES, 2 * EXAMPLES)
    assert len(one.history) == len(two.history) == EPOCHS
    # float32 sums over 300 and over 600 terms
    np.testing.assert_allclose(one.history[:, "loss"], two.history[:, "loss"], rtol=1e-5)
    assert one.history[-1, "loss"] < 0.5 * one.history[0, "loss"]


@pytest.mark.parametrize("way", [MINIBATCH, SGD])
def test_an_epoch_has_twice_the_updates_and_the_same_loss_for_the_same_examples(
    found: Runs, way: str
) -> None:
    one, two = (found[f"{way}, {name}"] for name in ("as it is", "doubled"))
    assert two.history.steps_per_epoch == 2 * one.history.steps_per_epoch
    first, doubled = (run.history.epochs[0].metrics[LOSS] for run in (one, two))
    later = one.history.epochs[1].metrics[LOSS]  # as many examples as an epoch of the doubled
    assert doubled == pytest.approx(later, rel=0.1)
    assert abs(doubled - later) < 0.25 * (first - later)
    assert loss_after(one, 2 * EXAMPLES) == later
    assert loss_after(two, 2 * EXAMPLES) == doubled


def test_what_is_shown(found: Runs) -> None:
    table, line = tables(found)
    assert [row[1] for row in table.rows[2:4]] == ["3", "6"]  # type: ignore[union-attr]
    assert str(line).startswith("gradient descent: the losses of its steps differ by at most ")
    assert len(chart(found).panels) == 2 * len(RATES)


def test_copies_are_of_the_whole_data_set_and_older_hashes_stay() -> None:
    spec = recipes.airfoil_linear()
    assert replace(spec, data=ls.spec.Airfoil(copies=1)).hash == spec.hash
    assert recipes.airfoil_linear(**{"data.copies": 2}).hash != spec.hash

    one, many = (
        assemble(recipes.airfoil_linear(**{"data.max_examples": 20, "data.copies": n})).splits
        for n in (1, 3)
    )
    for name in ("x", "y"):
        tripled = np.concatenate([one["train"][name]] * 3)
        np.testing.assert_array_equal(many["train"][name], tripled)


def test_the_quick_form(tmp_path: Path) -> None:
    from lockstep.experiments.asking import ask

    outcome = ask("duplicated-data", quick=True, out=tmp_path / "here", framework="numpy")
    assert len(outcome.found.all) == 2 * len(RATES)
    assert {run.spec.data.max_examples for run in outcome.found} == {300}
