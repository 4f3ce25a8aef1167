"""The range test: its rule against curves whose answer is known, and that it leaves no trace."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lockstep import recipes
from lockstep.errors import InputError
from lockstep.experiments.lr_finder import TEST, Answer, Question, chart, run, suggested, tables
from lockstep.experiments.runs import Work
from lockstep.training import train


@pytest.mark.parametrize("center", [1e-3, 0.02, 0.5])
def test_the_rule_finds_where_a_logistic_fall_is_steepest(center: float) -> None:
    """1/(1 + (r/c)^2) is a logistic curve of log r: steepest at c. It grows again far above c."""
    rates = np.logspace(-5, 1.5, 300)
    falls = 2.3 / (1 + (rates / center) ** 2) + (rates / (100 * center)) ** 2
    noise = np.random.default_rng(0).normal(0, 0.01, 300)
    decade = (np.log10(rates[-1]) - np.log10(rates[0])) / 300
    assert abs(np.log10(suggested(rates, falls)) - np.log10(center)) <= decade
    assert abs(np.log10(suggested(rates, falls + noise)) - np.log10(center)) < 0.2


def test_a_fall_after_the_lowest_loss_does_not_count() -> None:
    """A loss that leaps up and comes down again, as after a step that was too long."""
    rates = np.logspace(-4, 1, 200)
    losses = 1 / (1 + (rates / 0.01) ** 2)
    losses[150:] += np.linspace(50, 1, 50)
    assert suggested(rates, losses) == pytest.approx(0.01, rel=0.1)


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    spec = recipes.airfoil_linear(framework="numpy", **{"data.source": "generated"})
    asked = Question(spec, low=1e-4, high=5.0, test_steps=120, train_steps=100)
    return run(asked, Work(tmp_path_factory.mktemp("finder")))


def test_the_rates_grow_exponentially(answer: Answer) -> None:
    rates = answer.runs[TEST].history[:, "lr"]
    expected = np.logspace(-4, np.log10(5), 120)[: len(rates)]
    np.testing.assert_allclose(rates, expected, rtol=1e-9)


def test_the_weights_are_those_of_the_beginning(answer: Answer) -> None:
    test, *trained = answer.runs
    alone = train(trained[1].spec)
    firsts = {float(one.history[0, "loss"]) for one in (test, *trained)}
    assert firsts == {float(alone.history[0, "loss"])}
    np.testing.assert_array_equal(trained[1].history[:, "loss"], alone.history[:, "loss"])


def test_the_suggested_rate_trains(answer: Answer) -> None:
    """Curvature is near 1 here, so the best rates are some hundredths to some tenths."""
    assert 0.01 < answer.rate < 0.6
    slower, best, _ = answer.runs.all[1:]
    ends = [float(np.mean(one.history[-20:, "loss"])) for one in (slower, best)]
    assert ends[1] < ends[0]
    assert ends[1] < 0.2 * float(best.history[0, "loss"])


def test_what_is_shown(answer: Answer) -> None:
    table, line = tables(answer)
    assert "the first loss is the same in every run" in str(line)
    panels = chart(answer).panels
    assert panels[0].x_log
    assert [guide.value for guide in panels[0].guides] == [answer.rate]
    assert len(table.rows) == 4  # type: ignore[union-attr]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from lockstep.cli import main

    words = ["experiment", "lr-finder", "fashion-softmax", "--quick", "--data", "generated"]
    small = ["--data.max-examples", "600", "--framework", "numpy", "--test-steps", "40"]
    assert main([*words, *small, "--out", str(tmp_path / "here")]) == 0
    assert "suggested learning rate" in capsys.readouterr().out


def test_a_range_that_begins_too_high() -> None:
    rates = np.logspace(-1, 2, 100)
    with pytest.raises(InputError, match=r"low = 0\.1: the loss is lowest within a decade"):
        suggested(rates, rates**2)


def test_rates_that_do_not_grow() -> None:
    with pytest.raises(InputError, match=r"low = 1\.0: is not between 0 and high = 0\.1"):
        Question(recipes.airfoil_linear(), low=1.0, high=0.1)
