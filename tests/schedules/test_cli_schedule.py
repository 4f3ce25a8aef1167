"""The command `lockstep schedule`, called as the command line calls it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import pytest

from lockstep.cli import schedule as command
from lockstep.errors import InputError, MissingError
from lockstep.schedules import KINDS, cosine

CHAPTER = "cosine(0.3, final=0.01, steps=15).warmup(5)"


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    command.register(parser.add_subparsers())
    args = parser.parse_args(["schedule", *words])
    return args.handler(args)


def table(text: str) -> dict[int, list[str]]:
    rows = [line.split() for line in text.splitlines()]
    return {int(row[0]): row[1:] for row in rows if row and row[0].isdigit()}


def test_table_shows_the_first_the_last_and_the_turns(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(CHAPTER, "--no-plot") == 0
    text = capsys.readouterr().out
    assert text.startswith(f"lr = {CHAPTER}\n")
    rows = table(text)
    assert {0, 1, 4, 5, 6, 19, 20, 21} <= set(rows)
    assert max(rows) == 21  # one step after the end
    assert rows[4] == ["0.24"]
    assert rows[20] == rows[21] == ["0.01"]


def test_several_schedules_are_compared_in_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(CHAPTER, "0.1", "--steps", "30", "--no-plot") == 0
    text = capsys.readouterr().out
    assert f"A = {CHAPTER}\nB = constant(0.1)\n" in text
    rows = table(text)
    assert rows[5] == ["0.3", "0.1"]
    assert max(rows) == 29


def test_a_long_schedule_stays_a_short_table(capsys: pytest.CaptureFixture[str]) -> None:
    many = f"multi_factor(0.5, milestones={list(range(10, 2000, 10))}, factor=0.99)"
    assert run(many, "--no-plot") == 0
    rows = table(capsys.readouterr().out)
    assert len(rows) == command.MAX_ROWS
    assert {0, 1991} <= set(rows)


def test_at_shows_only_the_steps_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("factor(2.0, factor=0.9, floor=0.01)", "--at", "0,1,999", "--no-plot") == 0
    assert table(capsys.readouterr().out) == {0: ["2"], 1: ["1.8"], 999: ["0.01"]}


def test_json_is_exact(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(CHAPTER, "--json", "--steps", "22") == 0
    found = json.loads(capsys.readouterr().out)
    schedule = cosine(0.3, final=0.01, steps=15).warmup(5)
    assert found["steps"] == list(range(22))
    assert found["schedules"][0]["lr"] == schedule.values(0, 22)
    assert found["schedules"][0]["schedule"]["kind"] == "warmup"
    assert run(CHAPTER, "--json", "--at", "5,100") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["steps"], found["schedules"][0]["lr"]) == ([5, 100], [schedule(5), schedule(100)])


def test_plot_is_plain_text_when_not_in_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("plotext")
    assert run(CHAPTER, "0.1") == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text
    plot = text[text.index("┌") :]
    assert "AAA" in plot
    assert "BBB" in plot
    assert "step" in plot


def test_plot_has_colour_in_a_terminal_unless_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("plotext")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run("0.1") == 0
    assert "\x1b[" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    assert run("0.1") == 0
    assert "\x1b" not in capsys.readouterr().out


def test_without_plotext_the_table_is_still_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "plotext", None)
    assert run("0.1") == 0
    text = capsys.readouterr().out
    assert table(text)[0] == ["0.1"]
    assert "no plot: plotext is not installed. Install it with: pip install" in text


@pytest.mark.parametrize(("suffix", "begin"), [(".png", b"\x89PNG"), (".svg", b"<?xml")])
def test_out_writes_a_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str, begin: bytes
) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / f"rates{suffix}"
    assert run(CHAPTER, "0.1", "--no-plot", "--figure", str(path)) == 0
    assert path.read_bytes().startswith(begin)
    assert f"wrote {path}" in capsys.readouterr().out


def test_without_matplotlib_a_figure_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingError, match=r"matplotlib.*pip install"):
        run("0.1", "--figure", str(tmp_path / "a.png"))


def test_list_names_every_kind_with_formula_and_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--list") == 0
    text = capsys.readouterr().out
    joined = " ".join(text.split())
    for kind, cls in KINDS.items():
        assert f"\n{kind}\n" in f"\n{text}"
        assert cls.formula in joined
        assert f"example: {cls.example}" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "none was given"),
        (["cosin(0.3, steps=2)"], "Did you mean 'cosine'"),
        (["0.1", "--steps", "0"], "--steps = 0: must be at least 1"),
        (["0.1", "--at", "1;2"], "--at = '1;2': is not a list of steps"),
        (["0.1", "--at=-1"], "--at = '-1': is not a list of steps"),
        (["0.1", "--figure", "a.pdf"], "is neither PNG nor SVG"),
        (["plateau(0.1)"], "reads the run's metric"),
    ],
)
def test_bad_requests_are_refused_with_a_remedy(words: list[str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        run(*words)
    assert message in str(caught.value)


def test_every_example_can_be_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")  # a column for each of them
    examples = [cls.example for kind, cls in KINDS.items() if kind != "plateau"]
    assert run(*examples, "--no-plot") == 0
    rows = table(capsys.readouterr().out)
    assert all(len(row) == len(examples) for row in rows.values())
    assert rows[0][0] == "0.3"
