"""k devices with k times the batch: which runs there are, and what is kept of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import lockstep as ls
from lockstep.cli import main
from lockstep.errors import InputError
from lockstep.experiments.asking import ask
from lockstep.experiments.runs import Work
from lockstep.experiments.scaled_batch import (
    EXPERIMENT,
    WARMED,
    Question,
    chart,
    metric_of,
    rule_of,
    runs,
    tables,
    to_dict,
)
from lockstep.report.tables import TextTable


def small(**fields: object) -> ls.RunSpec:
    return ls.recipes.airfoil_linear(batch_size=10, epochs=3, **fields)


def test_every_number_of_devices_with_every_rule() -> None:
    asked = Question(small(), (1, 2, 4), ("linear", "square_root"), warmup=0)
    found = [
        (c.devices, c.rule, c.spec.devices, c.spec.batch_size, c.spec.schedule(300))
        for c in asked.cases()
    ]
    assert found == [
        (1, "none", 1, 10, pytest.approx(0.05)),
        (2, "linear", 2, 20, pytest.approx(0.1)),
        (2, "square_root", 2, 20, pytest.approx(0.05 * 2**0.5)),
        (4, "linear", 4, 40, pytest.approx(0.2)),
        (4, "square_root", 4, 40, pytest.approx(0.1)),
    ]


def test_warmup_is_a_case_of_its_own() -> None:
    asked = Question(small(), (1, 4), ("none", "linear"), warmup=2)
    cases = {case.rule: case.spec for case in asked.cases() if case.devices == 4}
    assert list(cases) == ["none", "linear", WARMED]
    # from the old rate, 0.05, to four times that
    assert [cases[WARMED].schedule(t) for t in range(4)] == pytest.approx([0.05, 0.125, 0.2, 0.2])
    assert [cases["linear"].schedule(t) for t in range(2)] == pytest.approx([0.2, 0.2])
    assert [cases["none"].schedule(t) for t in range(2)] == pytest.approx([0.05, 0.05])
    without = Question(small(), (4,), ("none",), warmup=2)
    assert [case.rule for case in without.cases()] == ["none"]  # only what the rule asks for


def test_the_curves_are_those_of_the_runs(tmp_path: Path) -> None:
    reported: list[float] = []
    asked = Question(small(framework="numpy"), (1, 3), ("linear",), warmup=20)
    work = Work(tmp_path, lambda share, what: reported.append(share))
    found = EXPERIMENT.run(asked, work)
    answer = to_dict(found)
    assert answer["metric"] == "final_train_loss"
    for values, case in zip(answer["runs"], asked.cases(), strict=True):
        alone = ls.train(case.spec.with_fields({"devices": 1}))
        expected = [epoch.metrics["final_train_loss"] for epoch in alone.history.epochs]
        assert values["values"] == pytest.approx(expected, rel=1e-5)  # float32, summed in parts
        assert (values["devices"], values["num_steps"]) == (case.devices, len(alone.history))
        assert values["rule"] == case.rule
        assert len(values["seconds"]) == 3
        assert all(a < b for a, b in zip(values["seconds"], values["seconds"][1:], strict=False))
    assert reported == sorted(reported)
    assert reported[-1] == 1.0
    by_epoch, by_time = chart(found).panels
    labels = [planned.label for planned in runs(asked)]
    for panel, x in ((by_epoch, None), (by_time, "seconds")):
        assert [series.label for series in panel.series] == labels
        for series, values in zip(panel.series, answer["runs"], strict=True):
            assert list(series.y) == list(values["values"])
            assert list(series.x) == pytest.approx(list(values[x]) if x else [1, 2, 3])
    # a colour for each number of devices, a dash for each rule
    one, linear, warmed = by_epoch.series
    assert one.colour != linear.colour == warmed.colour
    assert linear.dash != warmed.dash
    assert [rule_of(run) for run in found] == ["none", "linear", WARMED]
    (table,) = tables(found)
    assert isinstance(table, TextTable)
    assert [row[4] for row in table.rows] == ["450", "150", "150"]  # 1,500 / 10 and / 30, 3 epochs


def test_a_second_time_nothing_is_trained(tmp_path: Path) -> None:
    asked = Question(small(framework="numpy"), (1, 2), ("linear",), warmup=0)
    first, second = (Work(tmp_path) for _ in range(2))
    before = EXPERIMENT.run(asked, first)
    assert to_dict(EXPERIMENT.run(asked, second)) == to_dict(before)
    assert (first.num_carried_out, second.num_carried_out) == (2, 0)


def test_what_cannot_be_asked() -> None:
    assert metric_of(ls.recipes.fashion_lenet()) == "test_accuracy"
    with pytest.raises(InputError, match=r"evaluate = \(\): nothing is measured"):
        Question(small(evaluate=()))
    with pytest.raises(InputError, match="rule = 'cubic'"):
        Question(small(), rules=("cubic",))


def test_the_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["airfoil-linear", "--framework", "numpy", "--devices", "1,2", "--rules", "linear"]
    more = ["--epochs", "1", "--warmup", "0", "--figure", "scaled.svg"]
    assert main(["experiment", "scaled-batch", *words, *more]) == 0
    table = capsys.readouterr().out
    assert "train loss (whole set)" in table
    assert [line.split()[:3] for line in table.splitlines()[2:4]] == [
        ["1", "none", "10"],
        ["2", "linear", "20"],
    ]
    assert (tmp_path / "scaled.svg").read_text().startswith("<?xml")
    assert main(["experiment", "scaled-batch", "airfoil-linear", "--devices", "1,two"]) == 2
    assert "devices = 'two': is not a whole number" in capsys.readouterr().err


def test_the_quick_form_leaves_what_is_varied(tmp_path: Path) -> None:
    """Its fields are those of the run that is asked about, not of every run of it."""
    spec = small(framework="numpy")
    found = ask("scaled-batch", out=tmp_path, quick=True, spec=spec, warmup=0).found
    assert [run.spec.batch_size for run in found] == [10, 20, 20]
    assert [run.spec.schedule(0) for run in found] == pytest.approx([0.05, 0.05, 0.1])


def test_the_default_is_a_lenet_of_minutes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a person asks who names neither a recipe nor a field."""
    asked: list[Question] = []
    monkeypatch.setattr(
        "lockstep.experiments.asking.carry_out", lambda e, question, *rest: asked.append(question)
    )
    ask("scaled-batch", out=tmp_path, framework="numpy")
    (question,) = asked
    assert (question.spec.name, question.spec.batch_size) == ("fashion-lenet", 64)
    assert question.spec.data.max_examples == 15_000
    largest = max(case.spec.schedule(5) for case in question.cases())
    assert largest == pytest.approx(4 * 0.05)  # below the recipe's own 0.3, which LeNet bears
