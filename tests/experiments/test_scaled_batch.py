"""k devices with k times the batch: which runs there are, and what is kept of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import lockstep as ls
from lockstep.cli import main
from lockstep.errors import InputError
from lockstep.experiments.scaled_batch import Question, figure, metric_of, run


def small(**fields: object) -> ls.RunSpec:
    return ls.recipes.airfoil_linear(batch_size=10, epochs=3, **fields)


def test_every_number_of_devices_with_every_rule() -> None:
    asked = Question(small(), (1, 2, 4), ("linear", "square_root"), warmup=3)
    found = [(k, rule, s.devices, s.batch_size, s.schedule(300)) for k, rule, s in asked.runs()]
    assert found == [
        (1, "none", 1, 10, pytest.approx(0.05)),
        (2, "linear", 2, 20, pytest.approx(0.1)),
        (2, "square_root", 2, 20, pytest.approx(0.05 * 2**0.5)),
        (4, "linear", 4, 40, pytest.approx(0.2)),
        (4, "square_root", 4, 40, pytest.approx(0.1)),
    ]


def test_the_curves_are_those_of_the_runs() -> None:
    reported: list[float] = []
    asked = Question(small(), (1, 3), ("linear",))
    answer = run(asked, lambda share, what: reported.append(share))
    curves = answer.curves
    for curve, (k, _, spec) in zip(curves, asked.runs(), strict=True):
        alone = ls.train(spec.with_fields({"devices": 1}))
        expected = [epoch.metrics["final_train_loss"] for epoch in alone.history.epochs]
        assert curve.values == pytest.approx(expected, rel=1e-5)  # float32, summed in parts
        assert (curve.devices, curve.num_steps) == (k, len(alone.history))
        assert len(curve.seconds) == 3
        assert all(a < b for a, b in zip(curve.seconds, curve.seconds[1:], strict=False))
    assert reported == pytest.approx([i / 6 for i in range(1, 7)])
    assert answer.metric == "final_train_loss"
    lines = figure(answer).axes[0].get_lines()
    assert [line.get_label() for line in lines] == [curve.label for curve in curves]
    assert lines[1].get_ydata().tolist() == list(curves[1].values)


def test_something_must_be_measured() -> None:
    assert metric_of(ls.recipes.fashion_lenet()) == "test_accuracy"
    with pytest.raises(InputError, match=r"evaluate = \(\): nothing is measured"):
        metric_of(small(evaluate=()))


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    drawn = tmp_path / "scaled.svg"
    words = ["airfoil-linear", "--devices", "1,2", "--rules", "linear", "--figure", str(drawn)]
    assert main(["experiment", "scaled-batch", *words, "--epochs", "1"]) == 0
    table = capsys.readouterr().out
    assert "train loss (whole set)" in table
    assert [line.split()[:3] for line in table.splitlines()[2:4]] == [
        ["1", "none", "10"],
        ["2", "linear", "20"],
    ]
    assert drawn.read_text().startswith("<?xml")
    assert main(["experiment", "scaled-batch", "airfoil-linear", "--devices", "1,two"]) == 2
    assert "devices = 'two': is not a whole number" in capsys.readouterr().err
