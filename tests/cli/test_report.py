"""`lockstep report` and `lockstep show` of several runs: what they write, print and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lockstep as ls
from lockstep.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs that differ in their batch size, one that diverges, and something else."""
    root = tmp_path_factory.mktemp("report")
    for name, options in {
        "small": {"batch_size": 10},
        "large": {"batch_size": 100},
        "diverged": {"batch_size": 10, "schedule": "constant(50)"},
    }.items():
        ls.train(ls.recipes.airfoil_linear(epochs=1, **options), out=root / name)
    (root / "other").mkdir()
    return root


def test_a_page_of_several_runs(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [str(folder / name) for name in ("small", "large", "diverged")]
    out = tmp_path / "page.html"
    assert main(["report", *runs, "--out", str(out), "--x", "epoch", "--title", "a <title>"]) == 0
    assert str(out) in capsys.readouterr().out
    text = out.read_text()
    assert len(text) < 3_000_000
    for words in (
        "a &lt;title&gt;",
        "1 of 3 not completed",
        "with the learning rate 50",
        "batch_size",
        "train loss (whole set)",
        "lockstep report",
        "real, d2l",
    ):
        assert words in text


def test_show_of_several_runs(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [str(folder / name) for name in ("small", "large")]
    file = tmp_path / "curves.svg"
    assert main(["show", *runs, "--figure", str(file), "--x", "examples"]) == 0
    printed = capsys.readouterr().out
    assert "batch_size" in printed
    assert "examples seen" in file.read_text()
    assert main(["show", *runs, "--json"]) == 0
    small, large = json.loads(capsys.readouterr().out)
    assert (small["differs"], large["differs"]) == ({"batch_size": 10}, {"batch_size": 100})
    assert (small["steps"], large["steps"]) == (150, 15)  # 1,500 examples


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["report", "nothing", "--out", "{tmp}/p.html"], "'nothing': is not a run"),
        (["report", "{runs}/other", "--out", "{tmp}/p.html"], "holds no run"),
        (["report", "{runs}/small", "--out", "{tmp}/no/p.html"], "does not exist"),
        (["report", "{runs}/small", "--out", "{tmp}"], "is a folder"),
        (["show", "{runs}/small", "{runs}/large", "--report"], "lockstep report RUN"),
        (["show", "{runs}/small", "{runs}/large", "--against", "x"], "without --against"),
    ],
)
def test_mistakes_are_one_line(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    said: str,
) -> None:
    assert main([word.format(runs=folder, tmp=tmp_path) for word in words]) == 2
    printed = capsys.readouterr().err
    assert said in printed
    assert printed.count("\n") == 1
