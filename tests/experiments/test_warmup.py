"""Warm-up: a rate that fails at once trains after some steps of it, for every seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep import recipes
from lockstep.experiments.asking import ask
from lockstep.experiments.runs import Planned, Runs, Work
from lockstep.experiments.warmup import RATE, Question, accuracies, chart, outcome, runs, tables


def test_the_rate_rises_to_the_same_height() -> None:
    for planned, length in zip(runs(Question((0, 4, 8))), (0, 4, 8), strict=True):
        rates = planned.spec.schedule.values(0, 10)  # type: ignore[union-attr]
        assert rates == pytest.approx(
            [min(1, t / length) * RATE if length else RATE for t in range(10)]
        )
        assert planned.spec.schedule_per == "step"


def test_how_runs_end_is_told_apart(tmp_path: Path) -> None:
    """On generated shapes, a few steps: one rate is far too large, one is 0, one fits."""
    spec = recipes.fashion_softmax(batch_size=32, epochs=6, framework="numpy", evaluate_epochs=6)
    spec = spec.with_fields({"data.source": "generated", "data.max_examples": 320})
    rates = {"far too large": 1e38, "none": 0.0, "right": 0.1}
    found = Work(tmp_path).carry_out(Planned(name, spec.with_lr(lr)) for name, lr in rates.items())
    assert outcome(found["far too large"]).startswith("diverged at step ")
    assert outcome(found["none"]) == "stayed at chance"
    assert outcome(found["right"]) == "trained"
    assert accuracies(found, "far too large") == [0.0]
    (table,) = tables(found)
    assert [row[1] for row in table.rows] == [outcome(run) for run in found]  # type: ignore[union-attr]
    bars = chart(found).panels[-1].bars
    assert [bar.end for bar in bars] == pytest.approx(
        [100 * accuracies(found, n)[0] for n in rates]
    )


@pytest.mark.slow
def test_every_seed_fails_without_warmup_and_trains_with_an_epoch_of_it(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found: Runs = ask("warmup", seeds=3, out=tmp_path / "here", lengths="0,118").found
    without, warmed = ([outcome(run) for run in found.of(label)] for label in found.labels)
    assert "trained" not in without
    assert warmed == ["trained"] * 3
