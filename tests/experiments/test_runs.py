"""The runs of an experiment: changed together, repeated with seeds, kept and taken up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import lockstep as ls
from lockstep.errors import InputError
from lockstep.experiments.asking import How, ask, carry_out
from lockstep.experiments.runs import Interrupted, Planned, Runs, Work, folder_name, of_runs
from lockstep.report.curves import curve, panel
from lockstep.training import train
from lockstep.training.directory import RunDirectory
from lockstep.training.events import Event, StepsCompleted
from lockstep.training.run_state import Training

SPEC = ls.recipes.airfoil_linear(epochs=1)


def two() -> list[Planned]:
    return [Planned(f"b={b}", replace(SPEC, batch_size=b)) for b in (10, 100)]


def test_runs_are_those_that_train_gives(tmp_path: Path) -> None:
    found = Work(tmp_path).carry_out(two())
    assert found.labels == ["b=10", "b=100"]
    for run in found:
        alone = train(replace(SPEC, batch_size=run.spec.batch_size))
        np.testing.assert_array_equal(run.history[:, "loss"], alone.history[:, "loss"])
        assert run.metrics["final_train_loss"] == alone.metrics["final_train_loss"]


def test_a_run_that_is_there_is_not_run_again(tmp_path: Path) -> None:
    Work(tmp_path).carry_out(two())
    logs = sorted(tmp_path.glob("runs/*/events.jsonl"))
    times = [log.stat().st_mtime_ns for log in logs]
    again = Work(tmp_path, num_seeds=2)
    found = again.carry_out(two())
    assert again.num_carried_out == 2  # those of the second seed
    assert [log.stat().st_mtime_ns for log in logs] == times
    assert [run.spec.seed for run in found.of("b=10")] == [0, 1]


def test_an_interrupted_run_is_taken_up(tmp_path: Path) -> None:
    def stop(event: Event, run: Training) -> None:
        if isinstance(event, StepsCompleted) and run.step >= 60:
            run.interrupt()

    work = Work(tmp_path)
    with pytest.raises(Interrupted, match="b=10: interrupted at step"):
        work.carry_out([replace(two()[0], callbacks=(stop,), event_steps=20)])
    (folder,) = (tmp_path / "runs").iterdir()
    assert RunDirectory(folder).status == "interrupted"
    found = work.carry_out(two())
    alone = train(SPEC)
    np.testing.assert_array_equal(found["b=10"].history[:, "loss"], alone.history[:, "loss"])


def test_changes_reach_every_run() -> None:
    work = Work(Path("x"), changes={"precision": "float64", "lr": 0.01, "data.order": "in_order"})
    for run in work.planned(two()):
        assert run.spec.precision == "float64"
        assert run.spec.schedule(0) == 0.01
        assert run.spec.data.order == "in_order"  # type: ignore[attr-defined]


def test_what_was_asked_goes_before_the_quick_form() -> None:
    work = Work(Path("x"), changes={"epochs": "3"}, quick={"epochs": 1, "max_steps": 7})
    assert {(r.spec.epochs, r.spec.max_steps) for r in work.planned(two())} == {(3, 7)}


@pytest.mark.parametrize("name", ["batch_size", "lr", "schedule", "schedule.base"])
def test_what_the_runs_differ_in_cannot_be_changed(name: str) -> None:
    runs = [replace(run, spec=run.spec.with_lr(1 / run.spec.batch_size)) for run in two()]
    with pytest.raises(InputError, match=f"{name} = .*: is what the runs of this experiment"):
        Work(Path("x"), changes={name: 1}).planned(runs)


def test_several_frameworks_and_seeds() -> None:
    work = Work(Path("x"), changes={"framework": "numpy,torch"}, num_seeds=2)
    found = work.planned([replace(two()[0], spec=replace(SPEC, seed=5))])
    assert [(r.label, r.spec.framework, r.spec.seed) for r in found] == [
        ("numpy: b=10", "numpy", 5),
        ("numpy: b=10", "numpy", 6),
        ("torch: b=10", "torch", 5),
        ("torch: b=10", "torch", 6),
    ]
    assert len({folder_name(run) for run in found}) == 4


def test_the_same_run_twice_is_refused() -> None:
    with pytest.raises(InputError, match="plans the same run twice"):
        Work(Path("x")).planned([two()[0], two()[0]])


def test_progress_goes_from_part_to_part(tmp_path: Path) -> None:
    shares: list[float] = []
    work = Work(tmp_path, lambda share, what: shares.append(share))
    work.carry_out(two(), part=(0.5, 1.0))
    assert shares == sorted(shares)
    assert 0.5 <= shares[0] < 0.9
    assert shares[-1] == pytest.approx(1.0)


# --- seeds become a mean and a band


def test_mean_and_band_over_seeds(tmp_path: Path) -> None:
    found = Work(tmp_path, num_seeds=3).carry_out(two())
    drawn = panel(found.all, "final_train_loss", "epoch").series
    assert [series.label for series in drawn] == ["b=10", "b=100"]
    values = np.array([curve(run, "final_train_loss")[1] for run in found.of("b=100")])
    assert len(values) == 3
    np.testing.assert_allclose(drawn[1].y, values.mean(0))
    np.testing.assert_allclose(drawn[1].low, values.min(0))
    np.testing.assert_allclose(drawn[1].high, values.max(0))
    assert found.mean("b=100", "final_train_loss") == pytest.approx(values[:, -1].mean())


def test_against_seconds_seeds_meet_on_common_places(tmp_path: Path) -> None:
    found = Work(tmp_path, num_seeds=2).carry_out(two()[:1])
    (series,) = panel(found.all, "loss", "seconds").series
    ends = [curve(run, "loss", "seconds")[0] for run in found]
    assert series.x[0] == pytest.approx(max(x[0] for x in ends))
    assert series.x[-1] == pytest.approx(min(x[-1] for x in ends))
    assert np.all(np.asarray(series.low) <= np.asarray(series.high))


# --- the folder of an experiment


def simple(tmp_path: Path) -> tuple[object, How]:
    experiment = of_runs(
        "simple",
        "Which?\n\nTrains both.",
        lambda asked: two(),
        tables=lambda found: [found.table("final_train_loss")],
        chart=lambda found: found.chart("both", panel(found.all, "loss", "step")),
        quick={"max_steps": 3},
        framework="numpy",
    )
    return experiment, How(out=tmp_path / "out", quick=True)


def test_an_experiment_writes_its_answer(tmp_path: Path) -> None:
    experiment, how = simple(tmp_path)
    outcome = carry_out(experiment, experiment.options(), how)  # type: ignore[attr-defined, arg-type]
    assert isinstance(outcome.found, Runs)
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {
        "answer.json", "answer.md", "experiment.json", "figure.png", "figure.svg", "page.html",
        "runs",
    }  # fmt: skip
    assert all(len(run.history) == 3 for run in outcome.found)
    text = (tmp_path / "out" / "answer.md").read_text()
    assert text.startswith("# Which?")
    assert "| b=100 | completed |" in text
    page = (tmp_path / "out" / "page.html").read_text()
    assert "its quick form" in page
    assert "<p>Trains both.</p>" in page
    assert "b=100" in page


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    experiment, how = simple(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match="holds other files"):
        carry_out(experiment, experiment.options(), how)  # type: ignore[attr-defined, arg-type]
    (tmp_path / "out" / "thesis.tex").unlink()
    (tmp_path / "out" / "experiment.json").write_text('{"experiment": "another"}')
    with pytest.raises(InputError, match="belongs to the experiment another"):
        carry_out(experiment, experiment.options(), how)  # type: ignore[attr-defined, arg-type]
    with pytest.raises(InputError, match="is a file"):
        carry_out(experiment, experiment.options(), How(out=tmp_path / "out" / "experiment.json"))  # type: ignore[attr-defined, arg-type]


def test_asked_from_python(tmp_path: Path) -> None:
    outcome = ask("vectorization", out=tmp_path, quick=True, frameworks="numpy", size=64)
    assert outcome.found.asked.seconds == 0.1  # of the quick form
    assert outcome.found.asked.frameworks == ("numpy",)
    with pytest.raises(InputError, match=r"option = 'sise'.*Did you mean 'size'"):
        ask("vectorization", out=tmp_path, sise=64)
    with pytest.raises(InputError, match="Did you mean 'minibatch'"):
        ask("minibach")
