"""`runs`, `show`, `resume` and `generate`: what is done with a run that is there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from lockstep import recipes
from lockstep.frameworks import registry
from lockstep.spec import RunSpec
from lockstep.training import checkpoints

from .conftest import SMALL_TEXT, Command


@pytest.fixture
def two(lockstep: Command) -> None:
    """Two runs of airfoil below runs/."""
    assert lockstep("train", "airfoil-linear", "--out", "runs/one", "--quiet").code == 0
    more = ("--lr", "0.1", "--seed", "4", "--out", "runs/two", "--quiet")
    assert lockstep("train", "airfoil-linear", *more).code == 0


@pytest.fixture
def text_run(lockstep: Command) -> Path:
    done = lockstep(
        "train", "timemachine-gru", *SMALL_TEXT, "--max-steps", "30", "--out", "text", "--quiet"
    )
    assert done.code == 0
    return Path("text")


# --- runs -----------------------------------------------------------------------------------------


def test_no_runs_yet(lockstep: Command) -> None:
    done = lockstep("runs")
    assert (done.code, done.err) == (0, "")
    assert "no runs in runs/" in done.out
    assert lockstep("runs", "--json").json == []


@pytest.mark.usefixtures("two")
def test_runs_are_listed(lockstep: Command) -> None:
    done = lockstep("runs")
    assert done.code == 0
    lines = {line.split()[0]: line for line in done.out.splitlines() if line.split()}
    assert "completed" in lines["one"]
    assert "300" in lines["two"]
    assert "\x1b" not in done.out
    rows = lockstep("runs", "--json").json
    assert [row["run"] for row in rows] == ["one", "two"]
    assert all(row["metrics"]["final_train_loss"] < 0.25 for row in rows)
    assert lockstep("runs", "--root", "elsewhere", "--json").json == []


@pytest.mark.usefixtures("two")
def test_a_damaged_run_does_not_hide_the_others(lockstep: Command) -> None:
    Path("runs/one/spec.toml").write_text("name = ")
    with Path("runs/two/events.jsonl").open("a") as log:
        log.write('{"event": "Nothing"}\n')
    assert lockstep("train", "airfoil-linear", "--out", "runs/three", "--quiet").code == 0
    done = lockstep("runs", "--json")
    assert done.code == 0
    rows = {row["run"]: row for row in done.json}
    assert rows["three"]["status"] == "completed"
    assert rows["one"]["status"] == "unreadable"
    assert rows["two"]["status"] == "completed"  # the line that cannot be read is named
    assert "spec.toml" in done.err
    assert "unreadable" in lockstep("runs").out


@pytest.mark.parametrize("line", [b"\xff\xfe\n", b"[" * 9999 + b"\n", b"null\n"])
@pytest.mark.usefixtures("two")
def test_a_log_that_is_none_is_named(lockstep: Command, line: bytes) -> None:
    Path("runs/one/events.jsonl").write_bytes(line)
    assert "line 1 cannot be read" in " ".join(lockstep("show", "one").out.split())


# --- show -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("two")
def test_show(lockstep: Command) -> None:
    done = lockstep("show", "one")
    assert done.code == 0
    assert "batch_size = 10" in done.out
    assert "completed" in done.out
    assert "train loss (whole set)" in done.out
    assert "\x1b" not in done.out
    shown = lockstep("show", "runs/one", "--json").json
    assert RunSpec.from_dict(shown["spec"]) == recipes.airfoil_linear()
    assert shown["steps"] == 300


def test_parameters_are_counted(lockstep: Command, text_run: Path) -> None:
    # a GRU of 8 units over the symbols of the text, with one bias
    weights = checkpoints.load(checkpoints.newest(text_run / "checkpoints"))[0].weights
    symbols = weights["w_x"].shape[0]
    count = 3 * 8 * (symbols + 8 + 1) + 8 * symbols + symbols
    done = lockstep("show", "text", "--report")
    assert re.search(rf"^parameters +{count:,}$", done.out, re.MULTILINE)
    assert f"{count:,}" in Path("text/report.html").read_text()
    assert lockstep("show", "text", "--json").json["parameters"] == count
    for path in Path("text/checkpoints").iterdir():
        path.write_bytes(b"damaged")
    assert lockstep("show", "text", "--json").json["parameters"] is None


@pytest.mark.parametrize(
    "words",
    [
        ("show", "last"),
        ("show", "one", "--against", "last"),
        ("report", "last", "--out", "page.html"),
        ("export", "last", "--to", "csv", "--out", "tables"),
        ("resume", "last", "--epochs", "3"),
        ("convert", "last", "--to", "torch", "--out", "weights.safetensors"),
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("two")
def test_last_is_the_newest_run(lockstep: Command, words: tuple[str, ...]) -> None:
    done = lockstep(*words)
    assert done.code == 0, done.err
    if words[0] == "show" and len(words) == 2:
        assert done.out.startswith("two\n")
    elif words[0] == "show":
        assert re.search(r"^seed +0 +4$", done.out, re.MULTILINE)
    elif words[0] == "resume":
        assert "runs/two" in done.out
    elif words[0] == "export":
        assert "tables/two-steps.csv" in done.out
    elif words[0] == "report":
        assert "<title>two" in Path("page.html").read_text()


@pytest.mark.usefixtures("two")
def test_show_against_another(lockstep: Command) -> None:
    done = lockstep("show", "one", "--against", "two")
    assert done.code == 0
    assert "schedule.base" in done.out
    assert "seed" in done.out
    assert "batch_size" not in done.out
    rows = lockstep("show", "one", "--against", "two", "--json").json
    assert rows == [
        {"field": "seed", "one": 0, "other": 4},
        {"field": "schedule.base", "one": 0.05, "other": 0.1},
    ]
    assert "the same in every field" in lockstep("show", "one", "--against", "one").out


@pytest.mark.usefixtures("two")
def test_show_writes_a_figure_and_a_page(lockstep: Command) -> None:
    pytest.importorskip("matplotlib")
    done = lockstep("show", "one", "--figure", "curves.png", "--report")
    assert done.code == 0
    assert Path("curves.png").read_bytes().startswith(b"\x89PNG")
    page = Path("runs/one/report.html").read_text()
    assert "<svg" in page
    assert "report.html" in done.out
    assert lockstep("show", "one", "--figure", "curves.svg").code == 0
    assert "<svg" in Path("curves.svg").read_text()


@pytest.mark.usefixtures("two")
def test_show_against_another_draws_both(lockstep: Command) -> None:
    pytest.importorskip("matplotlib")
    done = lockstep("show", "one", "--against", "two", "--figure", "both.svg")
    assert done.code == 0, done.err
    assert "figure: both.svg" in done.out
    drawn = Path("both.svg").read_text()
    for words in (
        "one against two",
        "loss, running mean",
        "train loss (whole set)",
        "learning rate",
    ):
        assert words in drawn
    done = lockstep("show", "one", "--against", "two", "--figure", "--json")
    assert done.json[0]["field"] == "seed"
    assert Path("runs/one/figures/against-two.svg").is_file()
    assert "against-two.svg" in done.err


@pytest.mark.usefixtures("two")
def test_show_against_another_has_no_page(mistake: Callable[..., str]) -> None:
    said = mistake("show", "one", "--against", "two", "--report")
    assert "a page is of one run" in said


@pytest.mark.usefixtures("two")
def test_json_is_all_there_is_on_stdout(lockstep: Command) -> None:
    pytest.importorskip("matplotlib")
    done = lockstep("show", "one", "--figure", "curves.svg", "--report", "--json")
    assert done.json["run"] == "one"
    assert "report.html" in done.err


@pytest.mark.usefixtures("two")
def test_figures_are_png_or_svg(lockstep: Command) -> None:
    pytest.importorskip("matplotlib")
    done = lockstep("show", "one", "--figure", "curves.bmp")
    assert done.code == 2
    assert "is neither PNG nor SVG" in done.err


@pytest.mark.usefixtures("two")
def test_a_run_that_is_none(mistake: Callable[..., str]) -> None:
    assert "Runs in runs/: one, two" in mistake("show", "nine")
    assert "is not a run" in mistake("resume", "nine")
    assert "is not a run" in mistake("generate", "nine")
    assert "is not a run" in mistake("show", "one", "--against", "nine")


# --- resume ---------------------------------------------------------------------------------------


def test_resume_goes_on_to_more_epochs(lockstep: Command) -> None:
    assert lockstep("train", "airfoil-linear", "--epochs", "1", "--out", "run", "--quiet").code == 0
    done = lockstep("resume", "run", "--epochs", "2", "--json")
    assert done.code == 0
    assert done.json["steps"] == 300
    whole = lockstep("train", "airfoil-linear", "--out", "whole", "--json").json
    assert done.json["metrics"]["final_train_loss"] == whole["metrics"]["final_train_loss"]


def contents(folder: str) -> dict[str, bytes]:
    found = Path(folder).rglob("*")
    return {str(path): path.read_bytes() for path in found if path.is_file()}


@pytest.mark.parametrize("more", [[], ["--framework", "torch"], ["--epochs", "1"]])
def test_resume_of_a_run_that_is_over_changes_nothing(lockstep: Command, more: list[str]) -> None:
    trained = lockstep("train", "airfoil-linear", "--out", "run", "--json").json
    before = contents("run")
    done = lockstep("resume", "run", *more, "--json")
    assert done.code == 0
    assert (done.json["status"], done.json["ran"]) == ("completed", False)
    assert trained == done.json | {"ran": True}
    said = lockstep("resume", "run", *more)
    assert "nothing was run: it was completed already" in said.out
    assert "completed: " not in said.err
    assert contents("run") == before


def test_resume_of_a_run_that_diverged_or_was_cut_is_not_over(lockstep: Command) -> None:
    assert lockstep("train", "airfoil-linear", "--max-steps", "20", "--out", "run").code == 0
    done = lockstep("resume", "run", "--max-steps", "30", "--json")
    assert (done.json["ran"], done.json["steps"]) == (True, 30)


@pytest.mark.skipif("torch" not in registry.installed(), reason="torch is not installed")
def test_resume_in_another_framework(lockstep: Command) -> None:
    lockstep("train", "airfoil-linear", "--epochs", "1", "--out", "run", "--quiet")
    done = lockstep("resume", "run", "--framework", "torch", "--epochs", "2", "--quiet")
    assert done.code == 0
    assert RunSpec.from_file("run/spec.toml").framework == "torch"
    # its folder has the name of the first; runs and show tell the whole of it
    assert lockstep("show", "run", "--json").json["frameworks"] == [["numpy", 0], ["torch", 150]]
    assert "numpy to step 150, torch to step 300" in lockstep("show", "run").out
    assert "numpy to step 150, torch to step 300" in lockstep("runs", "--root", ".").out


def test_resume_refuses_another_run(lockstep: Command, mistake: Callable[..., str]) -> None:
    lockstep("train", "airfoil-linear", "--out", "run", "--quiet")
    said = mistake("resume", "run", "--batch-size", "100", "--quiet")
    assert "batch_size: 10 there, 100 here" in said
    assert "nope" in mistake("resume", "run", "--nope.field", "3", "--quiet")
    assert RunSpec.from_file("run/spec.toml") == recipes.airfoil_linear()


# --- generate -------------------------------------------------------------------------------------


def test_generate(lockstep: Command, text_run: Path) -> None:
    done = lockstep("generate", str(text_run), "--prefix", "the cat", "--num", "20")
    assert done.code == 0
    text = done.out.rstrip("\n")
    assert text.startswith("the cat")
    assert len(text) == len("the cat") + 20
    lockstep("generate", str(text_run), "--prefix", "a", "--num", "3")
    kept = (text_run / "generated.txt").read_text().splitlines()
    assert kept[0] == text
    assert len(kept) == 2


def test_generate_nothing_more(lockstep: Command, text_run: Path) -> None:
    assert lockstep("generate", str(text_run), "--prefix", "the", "--num", "0").out == "the\n"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--prefix", "Time 4"], ["prefix = 'Time 4'", "'4'", "'T'", "lower-case"]),
        (["--prefix", ""], ["prefix = ''", "is empty"]),
        (["--num", "-3"], ["num = -3", "at least 0"]),
    ],
)
def test_generate_mistakes(
    mistake: Callable[..., str], text_run: Path, options: list[str], words: list[str]
) -> None:
    said = mistake("generate", str(text_run), *options)
    for word in words:
        assert word in said


def test_generate_needs_a_language_model(lockstep: Command, mistake: Callable[..., str]) -> None:
    lockstep("train", "airfoil-linear", "--out", "run", "--quiet")
    assert "is not of a language model" in mistake("generate", "run")


def test_generate_needs_a_checkpoint(
    lockstep: Command, mistake: Callable[..., str], text_run: Path
) -> None:
    for file in (text_run / "checkpoints").iterdir():
        file.unlink()
    said = mistake("generate", str(text_run))
    assert "has no checkpoint yet" in said
    assert "lockstep resume" in said


def test_generate_where_nothing_can_be_written(mistake: Callable[..., str], text_run: Path) -> None:
    (text_run / "generated.txt").mkdir()
    assert "generated.txt: cannot be written" in mistake("generate", str(text_run))


def test_the_log_is_lines_of_json(text_run: Path) -> None:
    lines = (text_run / "events.jsonl").read_text().splitlines()
    kinds = [json.loads(line)["event"] for line in lines]
    assert kinds[0] == "RunStarted"
    assert kinds[-2:] == ["CheckpointSaved", "RunCompleted"]  # its end is told once it is safe
