"""Langevin noise: the closed form on cases done by hand, and samples that agree with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lockstep.errors import InputError
from lockstep.experiments import get
from lockstep.experiments.langevin import TEMPERATURES, chart, runs
from lockstep.experiments.langevin.posterior import Posterior
from lockstep.experiments.langevin.samples import EVERY, Sampled, Sampler, read_samples
from lockstep.experiments.runs import Interrupted, Planned, Runs, Work
from lockstep.training.events import Event, StepsCompleted
from lockstep.training.run_state import Training

GENERATED = {"data.source": "generated"}


def test_the_posterior_by_hand() -> None:
    """x = -1, 1: H is the unit matrix, so all weights are independent with variance T; the line
    through (-1, 0) and (1, 4) is 2 + 2 x."""
    found = Posterior(np.array([[-1.0], [1.0]]), np.array([0.0, 4.0]))
    np.testing.assert_allclose(found.minimum, [2.0, 2.0])
    np.testing.assert_allclose(found.covariance(0.5), 0.5 * np.eye(2))
    # v = (1 - lr)^2 v + 2 lr T, so v = 2 lr T / (1 - (1 - lr)^2): 0.2 / 0.36 of T = 0.5
    np.testing.assert_allclose(found.covariance_of_steps(0.5, 0.2), 0.5 * 0.4 / 0.36 * np.eye(2))
    # there is no residual, so batches add no noise
    np.testing.assert_allclose(
        found.covariance_of_steps(0.5, 0.2, batch=1), found.covariance_of_steps(0.5, 0.2)
    )


def test_steps_spread_more_than_the_posterior_by_their_size() -> None:
    """S = T H^-1 (I - lr H / 2)^-1, with features that depend on each other."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 2)) @ np.array([[1.0, 0.9], [0.0, 0.4]])
    found = Posterior(x, rng.normal(size=50))
    correction = np.linalg.inv(np.eye(3) - 0.1 * found.hessian / 2)
    expected = found.covariance(0.01) @ correction
    np.testing.assert_allclose(found.covariance_of_steps(0.01, 0.1), expected, rtol=1e-10)


def test_noise_of_batches_by_hand() -> None:
    """x = -1, 1 twice, with targets -1, 1 around their means: residuals are 1 everywhere, one
    example's gradient has variance 1 in each weight, and v = (2 lr T + lr^2 / b) / (1 - (1-lr)^2).
    """
    x, y = np.array([[-1.0], [-1.0], [1.0], [1.0]]), np.array([-1.0, 1.0, -1.0, 1.0])
    found = Posterior(x, y).covariance_of_steps(0.5, 0.2, batch=2)
    np.testing.assert_allclose(found.diagonal(), (2 * 0.2 * 0.5 + 0.04 / 2) / 0.36)


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    pytest.importorskip("jax")
    experiment = get("langevin")
    changes = {"framework": "jax", **GENERATED}
    work = Work(tmp_path_factory.mktemp("langevin"), changes=changes, quick=experiment.quick)
    return experiment.run(None, work)


def test_samples_spread_as_the_posterior(quick: Runs) -> None:
    """Of 4,500 steps about 470 are independent where H has eigenvalues near 1, so a variance is
    within 6.5 % (one sigma), and the mean of six within 2.7 %; steps of 0.1 add 5 %."""
    sampled = [Sampled(run) for run in quick if Sampled(run).full]
    assert [one.temperature for one in sampled] == list(TEMPERATURES)
    for one in sampled:
        assert abs(one.ratios.mean() - 1) < 0.15, one.label
        np.testing.assert_allclose(one.ratios, 1.0, atol=0.3)
        # around the minimum: its error is sigma / sqrt(independent samples), and 4 of these
        distance = np.abs(one.points.mean(0) - one.posterior.minimum) / np.sqrt(one.expected)
        assert distance.max() < 4 / np.sqrt(200)


def test_batches_spread_more_and_as_much_as_their_noise_says(quick: Runs) -> None:
    (one,) = (Sampled(run) for run in quick if not Sampled(run).full)
    full = Sampled(quick[f"T={one.temperature:g}"])
    assert (one.variances > full.variances).all()
    np.testing.assert_allclose(one.variances, one.of_steps, rtol=0.3)


def test_the_figure_has_the_measured_spreads(quick: Runs) -> None:
    panel = chart(quick).panels[0]
    drawn = {series.label: series for series in panel.series}
    line, points = drawn["posterior"], drawn["full gradients"]
    # on log axes a line of slope 1/2
    assert np.log(line.y[1] / line.y[0]) / np.log(line.x[1] / line.x[0]) == pytest.approx(0.5)
    expected = [np.sqrt(Sampled(quick[f"T={t:g}"]).variances.mean()) for t in points.x]
    np.testing.assert_allclose(points.y, expected)


def test_samples_of_an_interrupted_run_are_those_of_a_whole_one(tmp_path: Path) -> None:
    (planned,) = list(runs(None))[:1]
    work = Work(tmp_path / "cut", changes=GENERATED | {"framework": "numpy", "max_steps": 100})

    def stop(event: Event, run: Training) -> None:
        if isinstance(event, StepsCompleted) and run.step == 50:
            run.interrupt()

    with pytest.raises(Interrupted):
        work.carry_out([replace(planned, callbacks=(Sampler(), stop))])
    cut = work.carry_out([planned]).all[0]
    whole = Work(tmp_path / "whole", changes=work.changes).carry_out([planned]).all[0]
    assert cut.path is not None
    assert whole.path is not None
    steps, points = read_samples(cut.path)
    assert steps.tolist() == list(range(EVERY, 101, EVERY))
    np.testing.assert_array_equal(points, read_samples(whole.path)[1])


def test_a_framework_elsewhere_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lockstep.frameworks import registry

    monkeypatch.setattr(registry, "is_installed", lambda name: name != "mxnet")
    with pytest.raises(InputError, match=r"framework = 'mxnet': trains in another process.*numpy"):
        Work(tmp_path, changes={"framework": "mxnet"}).carry_out(_first())
    with pytest.raises(InputError, match="devices = 2: torch trains in another process"):
        Work(tmp_path, changes={"framework": "torch", "devices": 2}).carry_out(_first())
    assert not list(tmp_path.iterdir())


def _first() -> list[Planned]:
    return list(runs(None))[:1]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_variance_is_within_a_tenth_of_the_posterior(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    found = get("langevin").run(None, Work(tmp_path, changes={"framework": "jax"}, num_seeds=3))
    for one in (Sampled(run) for run in found):
        if one.full:
            np.testing.assert_allclose(one.ratios, 1.0, atol=0.1)
        else:
            assert one.ratios.mean() > 2
