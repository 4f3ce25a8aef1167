"""Six schedules on LeNet: the chapter's rates, and what they do to accuracy and to the gap."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from lockstep.experiments.asking import ask
from lockstep.experiments.runs import Runs, Work
from lockstep.experiments.schedules import (
    CONSTANT,
    TEST,
    TRAIN,
    WARMED,
    Question,
    chart,
    gap,
    runs,
    schedules,
    tables,
)


def test_the_chapters_rates() -> None:
    """By epoch, from the chapter's formulas; only the factor begins at 0.5 in place of 2."""
    six = schedules(30)
    for epoch in range(30):
        cosine = 0.01 + 0.29 * (1 + math.cos(math.pi * min(epoch, 20) / 20)) / 2
        after = 0.01 + 0.29 * (1 + math.cos(math.pi * min(epoch - 5, 15) / 15)) / 2
        expected = {
            "constant": 0.3,
            "square root": 0.1 / math.sqrt(epoch + 1),
            "factor": max(0.01, 0.5 * 0.9**epoch),
            "multi-factor": 0.5 if epoch < 15 else 0.25,
            "cosine": cosine,
            WARMED: 0.3 * epoch / 5 if epoch < 5 else after,
        }
        assert {name: rule(epoch) for name, rule in six.items()} == pytest.approx(expected)


def test_a_shorter_run_has_the_same_shapes() -> None:
    """A fifth of 30 epochs: warm-up in 1, cosine in 3, milestones at 3 and 6."""
    six = schedules(6)
    falls = [0.01 + 0.29 * (1 + math.cos(math.pi * t / 3)) / 2 for t in range(4)]
    assert six[WARMED].values(0, 6) == pytest.approx([0.0, *falls, 0.01])
    assert [six["multi-factor"](epoch) for epoch in (2, 3, 6)] == [0.5, 0.25, 0.125]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    changes = {"framework": "numpy", "data.source": "generated", "data.max_examples": 300}
    small = {"model": "softmax", "batch_size": 20}
    work = Work(tmp_path_factory.mktemp("schedules"), changes={**changes, **small})
    return work.carry_out(runs(Question(3)))


def test_the_gap_is_that_of_the_final_weights(found: Runs) -> None:
    for run in found:
        last = run.history.epochs[-1].metrics
        assert gap(found, run.label) == pytest.approx(last[TRAIN] - last[TEST])
    panels = chart(found).panels
    bars = [bar.end for bar in panels[-1].bars]
    assert bars == pytest.approx([100 * gap(found, label) for label in found.labels])
    assert [len(panel.series) for panel in panels[:-1]] == [6] * 4
    table, line = tables(found)
    assert [row[0] for row in table.rows] == list(schedules(3))  # type: ignore[union-attr]
    assert str(line).startswith(f"{WARMED} against {CONSTANT}: ")


def test_only_the_schedule_differs(found: Runs) -> None:
    assert len({(run.spec.seed, run.spec.batch_size, run.spec.epochs) for run in found}) == 1
    first = {round(float(run.history[0, "loss"]), 9) for run in found}
    assert len(first) == 1


@pytest.mark.slow
def test_cosine_with_warmup_is_accurate_and_has_a_smaller_gap(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = ask("schedules", out=tmp_path / "here").found
    assert found.mean(WARMED, TEST) >= 0.895
    assert gap(found, WARMED) < gap(found, CONSTANT)
    for label in found.labels:
        assert found.mean(label, TEST) > 0.85, label
