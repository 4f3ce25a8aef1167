"""`lockstep data look`: what is in a file, and a command that trains on it as it stands."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from .conftest import Command

DRAW = np.random.default_rng(4)
SIZE = DRAW.normal(3, 1, 40)
TEXT = "The cat sat; the dog ran.\n" * 60


@pytest.fixture
def files(folder: Path) -> Path:
    kinds = np.array(["low", "high"])[(SIZE > 3).astype(int)]
    rows = [
        f"{i},{s!r},,{k},7" for i, (s, k) in enumerate(zip(SIZE.tolist(), kinds, strict=True), 1)
    ]
    rows[4] = f"5,,,{kinds[4]},7"
    (folder / "kinds.csv").write_text("\n".join(["id,size,nothing,kind,same", *rows]))
    (folder / "book.txt").write_text(TEXT)
    (folder / "signs.txt").write_text("小猫在家睡觉。" * 300)
    x = DRAW.integers(0, 255, (60, 9, 8, 3)).astype(np.uint8)
    np.savez(folder / "marks.npz", x=x, y=np.arange(60) % 3)
    np.savez(folder / "large.npz", x=x.repeat(2, axis=1).repeat(2, axis=2), y=np.arange(60) % 3)
    return folder


def test_columns_have_their_ranges(lockstep: Command, files: Path) -> None:
    found = lockstep("data", "look", "kinds.csv", "--json").json
    assert (found["kind"], found["rows"], found["header"]) == ("table", 40, True)
    columns = {column["name"]: column for column in found["columns"]}
    there = np.delete(SIZE, 4)
    size = columns["size"]
    assert (size["kind"], size["missing"]) == ("number", 1)
    shown = [size[name] for name in ("least", "mean", "greatest")]
    assert shown == pytest.approx([there.min(), there.mean(), there.max()])
    assert size["bins"] == np.histogram(there, 20)[0].tolist()
    assert [columns[n]["kind"] for n in ("nothing", "kind", "same")] == [
        "empty",
        "class",
        "constant",
    ]
    assert dict(columns["kind"]["values"]) == {"low": (SIZE <= 3).sum(), "high": (SIZE > 3).sum()}
    said = lockstep("data", "look", "kinds.csv").out
    for words in ("'same' is constant", "'id' numbers the rows", "train on it: lockstep train"):
        assert words in said


@pytest.mark.parametrize(
    ("file", "recipe"),
    [
        ("kinds.csv", "table-softmax"), ("book.txt", "text-gru"), ("signs.txt", "text-gru"),
        ("marks.npz", "images-mlp"), ("large.npz", "images-lenet"),
    ],
)  # fmt: skip
def test_the_command_that_it_says_trains(
    lockstep: Command, files: Path, file: str, recipe: str
) -> None:
    words = shlex.split(lockstep("data", "look", file, "--json").json["command"])
    assert words[:3] == ["lockstep", "train", recipe]
    done = lockstep(*words[1:], "--framework", "numpy", "--max-steps", "2", "--quiet")
    assert done.code == 0, done.err


def test_a_texts_symbols_are_counted(lockstep: Command, files: Path) -> None:
    found = lockstep("data", "look", "book.txt", "--json").json
    assert found["counts"] == dict(Counter(TEXT))
    assert (found["characters"], found["lines"]) == (len(TEXT), 60)
    assert "symbols all" not in found["command"]
    signs = lockstep("data", "look", "signs.txt", "--json").json
    assert "--data.symbols all" in signs["command"]


def test_pictures_have_sizes_and_classes(lockstep: Command, files: Path) -> None:
    found = lockstep("data", "look", "marks.npz", "--json").json
    assert (found["width"], found["height"], found["colour"]) == (8, 9, True)
    assert found["counts"] == {"0": 20, "1": 20, "2": 20}


@pytest.mark.parametrize("file", ["kinds.csv", "book.txt", "signs.txt", "marks.npz"])
def test_the_page_holds_everything_itself(lockstep: Command, files: Path, file: str) -> None:
    done = lockstep("data", "look", file, "--page", "page.html")
    assert done.code == 0, done.err
    page = (files / "page.html").read_text()
    assert "<svg" in page
    assert shlex.split(lockstep("data", "look", file, "--json").json["command"])[2] in page
    assert ("data:image/png" in page) == (file == "marks.npz")
    for outside in ("<script src", "<link", 'src="http'):
        assert outside not in page


def test_what_a_file_is_taken_for(
    lockstep: Command, mistake: Callable[..., str], files: Path
) -> None:
    (files / "numbers.txt").write_text("1 2\n3 4\n5 7\n")
    look = ("data", "look", "numbers.txt")
    assert lockstep(*look, "--json").json["kind"] == "table"
    assert lockstep(*look, "--as", "text", "--json").json["kind"] == "text"
    named = lockstep(*look, "--data.header", "yes", "--json").json
    assert ([c["name"] for c in named["columns"]], named["rows"]) == (["1", "2"], 2)
    assert "Did you mean 'table'?" in mistake(*look, "--as", "tabel")
    assert "Name it .html" in mistake(*look, "--page", "page.pdf")
    assert "--data.header or --data.separator" in mistake(*look, "--data.target", "1")
    assert "is not there" in mistake("data", "look", "nowhere.csv")
    (files / "odd.csv").write_text("a,b\n1,2\n3\n")
    assert "line 3 has 1 cells" in mistake("data", "look", "odd.csv")
