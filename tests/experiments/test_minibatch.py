"""The chapter's picture: with a data loader, batches of 100 get the loss down soonest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lockstep.experiments import get
from lockstep.experiments.minibatch import GOAL, LOSS, SETTINGS, WAYS, chart, of_way, reached
from lockstep.experiments.runs import Runs, Work
from lockstep.report.curves import curve


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    pytest.importorskip("torch")
    work = Work(tmp_path_factory.mktemp("minibatch"), changes={"framework": "torch"})
    return get("minibatch").run(None, work)


def test_every_curve_ends_below_the_goal(found: Runs) -> None:
    assert len(found.all) == len(SETTINGS) * len(WAYS)
    for run in found:
        assert run.metrics[LOSS] < GOAL, run.label


def test_batches_of_100_are_soonest_with_a_data_loader(found: Runs) -> None:
    times = {run.label: reached(run) for run in of_way(found, next(iter(WAYS)))}
    assert None not in times.values()
    others = [times[name] for name in times if name != "b=100"]
    assert times["b=100"] < min(others)  # type: ignore[type-var, operator]


def test_the_ways_differ_in_time_and_not_in_numbers(found: Runs) -> None:
    """Rounding: other orders of float32 sums, about 1e-7 at every step."""
    slow, plain, fused = ({r.label: r for r in of_way(found, way)} for way in WAYS)
    for name in SETTINGS:
        loss = [runs[name].history[:, "loss"] for runs in (slow, plain, fused)]
        np.testing.assert_allclose(loss[0], loss[1], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(loss[0], loss[2], rtol=1e-4, atol=1e-5)
    seconds = [runs["SGD (b=1)"].history.seconds for runs in (slow, plain, fused)]
    assert seconds[2] < seconds[1] / 4
    assert seconds[2] < seconds[0] / 4


def test_the_figure_shows_the_measured_losses(found: Runs) -> None:
    panels = chart(found).panels
    assert [panel.title for panel in panels] == list(WAYS)
    for panel, way in zip(panels, WAYS, strict=True):
        assert panel.x_log
        drawn = {series.label: series for series in panel.series}
        for run in of_way(found, way):
            seconds, loss = curve(run, LOSS, "seconds")
            np.testing.assert_array_equal(drawn[run.label].x, seconds[seconds > 0])
            np.testing.assert_array_equal(drawn[run.label].y, loss[seconds > 0])


def test_the_quick_form_is_smaller(tmp_path: Path) -> None:
    experiment = get("minibatch")
    runs = list(_planned(Work(tmp_path, quick=experiment.quick)))
    assert max(run.spec.max_steps for run in runs) == 600


def _planned(work: Work) -> list:
    from lockstep.experiments.minibatch import runs

    return work.planned(runs(None))
