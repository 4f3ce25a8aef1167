"""The terminal: plain lines without escape codes when piped, few of them, and a live line."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

import lockstep as ls
from lockstep.comparison import Comparison
from lockstep.report.compare_progress import (
    LiveCompareProgress,
    PlainCompareProgress,
    compare_progress,
)
from lockstep.report.comparison_tables import print_comparison
from lockstep.report.progress import LiveProgress, PlainProgress, run_progress, show_progress
from lockstep.report.run_tables import print_diff, print_result, print_run, print_runs
from lockstep.training.directory import RunDirectory
from lockstep.training.events import (
    EpochCompleted,
    Event,
    ProgramCompiled,
    RunCompleted,
    RunDiverged,
    RunInterrupted,
    RunStarted,
    StepsCompleted,
)
from lockstep.training.history import History


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run_events(epochs: int = 3, steps: int = 10) -> list[Event]:
    events: list[Event] = [
        RunStarted(0, epochs * steps, steps, {}),
        ProgramCompiled(1.5, ["eager steps"]),
    ]
    for epoch in range(epochs):
        ones = [1.0] * steps
        events.append(StepsCompleted(epoch * steps, epoch, ones, ones, [0.05] * steps, 0.1))
        metrics = {"train_loss": 0.5, "test_accuracy": 0.9}
        events.append(EpochCompleted(epoch, (epoch + 1) * steps, metrics, 0.1 * (epoch + 1)))
    return [*events, RunCompleted(epochs * steps, 0.1 * epochs)]


def shown(progress: PlainProgress | LiveProgress, events: list[Event]) -> None:
    with progress:
        for event in events:
            progress(event)


def test_plain_lines_say_it_all_without_escape_codes() -> None:
    file = io.StringIO()
    shown(PlainProgress(file, seconds=0), run_events())
    assert file.getvalue().splitlines() == [
        "training: 30 steps",
        "ready in 1.5 s: eager steps",
        "step 10/30  100 steps/s  loss 1.000  lr 0.05  1 s left",
        "epoch 1: train loss (epoch mean) 0.5000, test accuracy 90.00 %",
        "step 20/30  100 steps/s  loss 1.000  lr 0.05  1 s left",
        "epoch 2: train loss (epoch mean) 0.5000, test accuracy 90.00 %",
        "step 30/30  100 steps/s  loss 1.000  lr 0.05  0 s left",
        "epoch 3: train loss (epoch mean) 0.5000, test accuracy 90.00 %",
        "completed: 30 steps in 300 ms",
    ]


@pytest.mark.parametrize("kind", [PlainProgress, LiveProgress])
def test_many_epochs_get_few_lines(kind: type[PlainProgress] | type[LiveProgress]) -> None:
    file = io.StringIO() if kind is PlainProgress else Terminal()
    shown(kind(file), run_events(epochs=1000))
    lines = file.getvalue().count("train loss")
    assert 10 <= lines <= 21
    assert "epoch 1000" in file.getvalue().replace("\x1b[2m", "").replace("  ", " ")


def test_plain_lines_come_seldom() -> None:
    file = io.StringIO()
    progress = PlainProgress(file)
    shown(progress, [e for e in run_events(500) if not isinstance(e, EpochCompleted)])
    assert len(file.getvalue().splitlines()) <= 4


def test_a_terminal_gets_a_live_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("lockstep.report.progress.DRAW_SECONDS", 0.0)
    file = Terminal()
    shown(run_progress(file), run_events())
    text = file.getvalue()
    for words in ("compiling", "20/30", "100 steps/s", "0.05", "left", "completed: 30 steps"):
        assert words in text
    assert "\x1b[2K" in text  # the line was redrawn


def test_a_dumb_terminal_gets_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(run_progress(Terminal()), PlainProgress)
    assert isinstance(compare_progress(file=Terminal()), PlainCompareProgress)


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (RunDiverged(7, float("nan"), 0.5, 6), "diverged: loss nan at step 7, lr 0.5"),
        (RunInterrupted(7), "interrupted at step 7"),
    ],
)
def test_bad_ends_are_printed(event: Event, said: str) -> None:
    for file, kind in ((io.StringIO(), PlainProgress), (Terminal(), LiveProgress)):
        shown(kind(file), [*run_events()[:2], event])
        assert said in file.getvalue()


def test_real_runs_are_followed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with show_progress() as listeners:
        result = ls.train(ls.recipes.airfoil_linear(), out=tmp_path / "run", listeners=listeners)
    printed = capsys.readouterr()
    assert "completed: 300 steps" in printed.err
    assert "train loss (whole set) 0.24" in printed.err
    assert "\x1b" not in printed.err
    assert printed.out == ""
    print_result(result)
    print_run(RunDirectory(tmp_path / "run"), result.history)
    printed = capsys.readouterr()
    for words in (
        "airfoil-linear in numpy",
        "train loss (whole set)",
        "steps/s",
        "eager steps",
        "0.05",
    ):
        assert words in printed.out
    assert "\x1b" not in printed.out


def test_quiet_prints_a_divergence_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(quiet=True) as listeners:
        for listener in listeners:
            listener(RunCompleted(step=9, seconds=1.0))
            listener(RunDiverged(step=7, loss=float("nan"), lr=5.0, kept=6))
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "diverged: loss nan at step 7, lr 5; kept the state of step 6\n"


# while a framework computes: how far it is, and what is left
STEP_LINE = r"torch: step \d+/30, \S+ steps/s, loss \S+, .+ left"


def test_a_comparison_is_followed_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lockstep.report.compare_progress.DRAW_SECONDS", 0.0)
    plain, live = io.StringIO(), Terminal()
    shown = (PlainCompareProgress(plain, seconds=0.0), LiveCompareProgress(["torch", "jax"], live))
    for progress in shown:
        with progress:
            progress("torch", "starting")
            for event in run_events():
                progress("torch", event)
            progress("torch", "completed")
            progress("jax", "starting")
            progress("jax", "crashed")
    lines = plain.getvalue().splitlines()
    assert lines[0] == "torch: starting"
    assert lines[1].startswith("torch: ready in")
    assert any(re.fullmatch(STEP_LINE, line) for line in lines)
    *_, ended, starting, crashed = lines
    assert ended.startswith("torch: completed after")
    assert ended.endswith("30 steps, loss 1.000")
    assert starting == "jax: starting"
    assert crashed.startswith("jax: crashed after")
    assert "\x1b" not in plain.getvalue()
    assert "waiting" in live.getvalue()
    assert "crashed" in live.getvalue()


def test_the_table_of_a_comparison(comparison: Comparison) -> None:
    file = io.StringIO()
    print_comparison(comparison, file)
    text = file.getvalue()
    assert "\x1b" not in text
    rows = {line.split()[0]: line for line in text.splitlines() if line.strip()}
    assert "none" in rows["torch"]
    assert "25 (loss)" in rows["jax"]
    assert "1.0e-03 from step 25" in rows["loss"]
    assert "mxnet crashed: was ended by SIGSEGV" in text
    assert "| segmentation <fault>" in text
    assert "no: jax differs at step 25: loss; mxnet crashed" in text


def test_lists_of_runs_and_differences() -> None:
    file = io.StringIO()
    row = {"run": "a[b]c", "framework": "jax", "style": "scratch", "status": "completed"}
    print_runs([row | {"steps": 1200, "metrics": {"loss": 0.5}}], "runs", file)
    print_runs([], "runs", file)
    print_diff([("seed", 0, 7)], file)
    print_diff([], file)
    text = file.getvalue()
    for words in ("a[b]c", "1,200", "loss 0.5000", "no runs in runs/", "seed", "the same in every"):
        assert words in text


def test_names_with_brackets_are_not_taken_for_markup(history: History, tmp_path: Path) -> None:
    spec = ls.recipes.airfoil_linear(name="[bold]x[nonsense]")
    directory = RunDirectory.create(tmp_path / "[red]run", spec, {})
    file = io.StringIO()
    print_run(directory, history, file)
    assert "[bold]x[nonsense]" in file.getvalue()
    assert "[red]run" in file.getvalue()
