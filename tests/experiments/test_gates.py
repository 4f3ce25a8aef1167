"""Gates: a model with an update gate remembers the first symbol further than one without."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lockstep.experiments import NoOptions, get
from lockstep.experiments.gates import MODELS, Answer, Memory, chart
from lockstep.experiments.runs import Work
from lockstep.report.curves import LoggedRun


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    pytest.importorskip("torch")
    experiment = get("gates")
    changes = {"framework": "torch", "data.source": "generated"}
    work = Work(tmp_path_factory.mktemp("gates"), changes=changes, quick=experiment.quick)
    answer: Answer = experiment.run(NoOptions(), work)
    return answer


@pytest.mark.parametrize(
    ("accuracy", "distance"),
    [([1.0, 0.9, 0.9], 2), ([1.0, 0.89, 1.0], 0), ([0.5, 1.0, 1.0], -1)],
)
def test_remembers_is_up_to_the_first_distance_below_the_share(
    quick: Answer, accuracy: list[float], distance: int
) -> None:
    run: LoggedRun = quick.memories[0].run
    assert Memory(run, np.array(accuracy), np.ones(3)).remembers == distance


def test_only_the_update_gate_remembers(quick: Answer) -> None:
    found = {label: quick.of(label)[0] for label in MODELS}
    last = len(found["GRU"].accuracy) - 1
    for label in ("GRU", "only the update gate"):
        assert found[label].remembers == last, label
        assert found[label].gradient[-1] > found[label].gradient[0] / 10
    for label in ("RNN", "only the reset gate"):
        assert found[label].remembers < last / 2, label
        assert found[label].gradient[-1] < found[label].gradient[0] / 10


def test_the_right_answers_are_those_of_the_runs_own_evaluation(quick: Answer) -> None:
    """The test accuracy of a run is over all steps: the mean of that of each distance."""
    for one in quick.memories:
        assert one.accuracy.mean() == pytest.approx(one.run.metrics["test_accuracy"], abs=2e-3)


def test_the_figure_has_a_curve_for_each_model_and_distance(quick: Answer) -> None:
    accuracy, gradient, learning = chart(quick).panels
    for panel, values in ((accuracy, "accuracy"), (gradient, "gradient")):
        scale = 100 if values == "accuracy" else 1
        for series in panel.series:
            expected = scale * getattr(quick.of(series.label)[0], values)
            np.testing.assert_allclose(series.y, expected)
            assert list(series.x) == list(range(len(expected)))
    assert [series.label for series in learning.series] == list(MODELS)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_gru_remembers_further_than_an_rnn_with_three_seeds(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    work = Work(tmp_path, changes={"framework": "torch"}, num_seeds=3)
    answer = get("gates").run(NoOptions(), work)
    for gru, rnn in zip(answer.of("GRU"), answer.of("RNN"), strict=True):
        assert gru.remembers == 31
        assert rnn.remembers < 8
