"""Narrow terminals and those without colour: in real ones, of 40 columns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lockstep as ls

from .conftest import Command
from .terminal import in_terminal

ESCAPE = "\x1b"
COMMANDS = (
    ("train", "airfoil-linear", "--framework", "numpy", "--epochs", "3", "--out", "new"),
    ("show", "runs/one"),
    ("show", "runs/one", "runs/two"),
    ("runs",),
    ("compare", "airfoil-linear", "--frameworks", "numpy", "--steps", "20", "--out", "report"),
)


@pytest.fixture(scope="module")
def folder_of_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("terminals")
    for name, size in (("one", 50), ("two", 100)):
        spec = ls.recipes.airfoil_linear(epochs=2, batch_size=size)
        ls.train(spec, out=root / "runs" / name, progress=False)
    return root


def words_of(text: str) -> set[str]:
    """Numbers and names, as a person would look for them."""
    return set(re.findall(r"[\w.,:()-]*\w", text))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_colour_is_no_escape_code(
    folder_of_runs: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "runs").symlink_to(folder_of_runs / "runs")
    text = in_terminal(*words, columns=40, folder=tmp_path, variables={"NO_COLOR": "1"})
    assert len(text) > 100
    assert ESCAPE not in text


@pytest.mark.parametrize("words", COMMANDS[1:4], ids=" ".join)
def test_a_narrow_terminal_has_every_word_whole(
    folder_of_runs: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], lockstep: Command
) -> None:
    monkeypatch.chdir(folder_of_runs)
    wide = lockstep(*words).out  # not in a terminal: as wide as it has to be
    assert ESCAPE not in wide
    narrow = in_terminal(*words, columns=40, folder=folder_of_runs, variables={"NO_COLOR": "1"})
    assert max(map(len, narrow.splitlines())) <= 40
    assert words_of(wide) <= words_of(narrow)


def test_progress_in_a_narrow_terminal(tmp_path: Path) -> None:
    text = in_terminal(
        "train", "airfoil-linear", "--framework", "numpy", "--out", "new", "--epochs", "60",
        columns=40, folder=tmp_path,
    )  # fmt: skip
    plain = re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", text)
    assert ESCAPE in text
    assert "…" not in plain
    # on its way: the bar may end before it is drawn full
    assert re.search(r"[1-9][\d,]*/9,000 ", plain)


def test_a_wide_terminal_has_tables(folder_of_runs: Path) -> None:
    text = in_terminal("runs", columns=160, folder=folder_of_runs)
    plain = re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", text)
    assert re.search(r"^run +framework +style +status +steps +metrics", plain, re.MULTILINE)
    assert ESCAPE in text
