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
    for words in ("'same' is constant", "'id' counts the rows", "train on it: lockstep train"):
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
    assert "data.separator = 'colon': is not known" in mistake(*look, "--data.separator", "colon")
    assert "data.header = 'maybe': is not known" in mistake(*look, "--data.header", "maybe")
    (files / "odd.csv").write_text("a,b\n1,2\n3\n")
    assert "line 3 has 1 cell," in mistake("data", "look", "odd.csv")


def rows(*lines: str) -> str:
    """A table of 40 good rows and these others; its rows begin in line 2."""
    good = [f"{i},{SIZE[i]:.2f},{i * i % 7}" for i in range(40)]
    return "\n".join(["a,b,price", *lines, *good]) + "\n"


TOLD = {
    "one word": (rows("total,,"), "'a' has 1 word among 40 numbers (line 2: 'total')"),
    "decimal commas": (
        rows().replace(",", ";").replace(".", ","),
        "'b' has numbers with commas (line 2: ",
    ),
    "infinite": (rows("1,inf,2"), "'b' has infinite numbers, the first in line 2: it is left out"),
    "years": (
        rows().replace("a,b,price", "a,2019,2020"),
        "'1' is no number in the first line only: is that line a header? --data.header yes",
    ),
    "numbers of pandas": (
        rows().replace("a,b,price", ",0,1"),
        "'1' is no number in the first line only: is that line a header? --data.header yes",
    ),
    "as many words as rows": (
        "a,b,price\n" + "".join(f"no {i},{i},{i * i}\n" for i in range(15)),
        "'a' holds words, which are no features: it is left out",
    ),
    "missing": (rows("1,,2", "1,NA,"), "3 missing values in 2 rows, which are dropped"),
    "few are whole": (
        "a,b\n" + "".join(f"{i},{i * i % 7 if i > 3 else ''}\n" for i in range(14)),
        "4 missing values in 4 rows",
    ),
    "a counter at the end": (
        "a,b,id\n" + "".join(f"{i * i % 11},{i % 5},{i}\n" for i in range(14)),
        "'id' counts the rows: it is left out",
    ),
    "empty": (rows().replace("\n", ",\n").replace("price,", "price,e"), "'e' is empty: it is left"),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_to_know_of_a_column_is_told(lockstep: Command, files: Path, name: str) -> None:
    content, remark = TOLD[name]
    (files / "told.csv").write_text(content)
    done = lockstep("data", "look", "told.csv")
    assert remark in done.out
    words = shlex.split(lockstep("data", "look", "told.csv", "--json").json["command"])
    done = lockstep(*words[1:], "--framework", "numpy", "--max-steps", "1", "--quiet")
    assert done.code == 0, done.err


def test_values_of_columns_left_out_are_not_missing(lockstep: Command, files: Path) -> None:
    (files / "told.csv").write_text(TOLD["empty"][0])
    assert "missing" not in lockstep("data", "look", "told.csv", "--json").json["command"]


@pytest.mark.parametrize(("low", "high"), [(1e9, 1e9 + 1.2e-7), (-1.7e308, 1.7e308), (0.0, 5e-324)])
def test_numbers_too_near_or_too_far_for_bins(
    lockstep: Command, files: Path, low: float, high: float
) -> None:
    (files / "odd.csv").write_text("a,b\n" + f"{low!r},1\n{high!r},2\n" * 10)
    done = lockstep("data", "look", "odd.csv", "--page", "odd.html", "--json")
    assert done.code == 0, done.err
    column = done.json["columns"][0]
    assert column["bins"] == [10] + 18 * [0] + [10]
    assert column["mean"] == pytest.approx(low / 2 + high / 2)


NO_COMMAND = {
    "one column": ("price.csv", "price\n1\n2\n3\n", "Separators are comma, semicolon, tab"),
    "bars": ("bars.csv", "a|b\n1|2\n3|4\n", "Separators are comma, semicolon, tab"),
    "one row": ("row.csv", "a,b\n1,2\n", "a model needs a column to learn"),
    "two rows": ("row.csv", "a,b\n1,2\n2,3\n", "too few rows to train on"),
    "two whole rows": ("row.csv", "a,b\n1,2\n2,3\n3,\n4,\n", "too few rows without missing"),
    "one letter": ("letter.txt", "a", "too short to train on: 100 symbols at least"),
}


@pytest.mark.parametrize("name", NO_COMMAND)
def test_it_says_why_there_is_no_command(lockstep: Command, files: Path, name: str) -> None:
    file, content, remark = NO_COMMAND[name]
    (files / file).write_text(content)
    assert remark in lockstep("data", "look", file).out
    assert lockstep("data", "look", file, "--json").json["command"] == ""


def test_the_shortest_text_trains(lockstep: Command, files: Path) -> None:
    (files / "short.txt").write_text("abcdefghi " * 9 + "abcdefghij")
    words = shlex.split(lockstep("data", "look", "short.txt", "--json").json["command"])
    done = lockstep(*words[1:], "--framework", "numpy", "--max-steps", "1", "--quiet")
    assert done.code == 0, done.err


X = DRAW.integers(0, 255, (12, 14, 14)).astype(np.uint8)
ODD_PICTURES: dict[str, tuple[dict[str, np.ndarray], str]] = {
    "one class": ({"x": X, "y": np.zeros(12, int)}, "it has one class only (0)"),
    "half labels": (
        {"x": X, "y": np.arange(12) / 2},
        "it has a label that is neither whole nor a word: 0.5 of picture 2",
    ),
    "test sizes": (
        {"x": X, "y": np.arange(12), "x_test": X[:, 1:], "y_test": np.arange(12)},
        "it has test pictures of (13, 14), the others are (14, 14)",
    ),
    "bytes and fractions": (
        {"x": X, "y": np.arange(12), "x_test": X / 255, "y_test": np.arange(12)},
        "it has bytes (uint8) in one of its parts, other numbers in the other",
    ),
    "too few": ({"x": X[:3], "y": np.arange(3)}, "they are too few to train on: 6 at least"),
}


@pytest.mark.parametrize("name", ODD_PICTURES)
def test_pictures_that_cannot_be_trained_on(lockstep: Command, files: Path, name: str) -> None:
    arrays, remark = ODD_PICTURES[name]
    np.savez(files / "odd.npz", **arrays)
    found = lockstep("data", "look", "odd.npz", "--json").json
    assert remark in " ".join(found["remarks"])
    assert found["command"] == ""


def test_cells_are_shown_on_one_line(lockstep: Command, files: Path) -> None:
    long = "very " * 20
    (files / "texts.csv").write_text("n,t\n" + f'1,"two\nlines"\n2,{long}\n' * 9)
    said = lockstep("data", "look", "texts.csv").out
    assert "two lines (9)" in said
    assert "very very very very v... (9)" in said


def test_what_is_not_listed_is_counted(lockstep: Command, files: Path) -> None:
    (files / "many.txt").write_text("".join(map(chr, range(0x4E00, 0x4E00 + 75))) * 5)
    assert "and 15 more, which --json lists" in lockstep("data", "look", "many.txt").out


def test_a_large_number_that_is_constant(lockstep: Command, files: Path) -> None:
    (files / "large.csv").write_text("a,b,c\n" + "".join(f"4e18,{i},{i}\n" for i in range(9)))
    assert "'a' is constant: it is left out" in lockstep("data", "look", "large.csv").out


def test_pictures_outside_the_folders_of_classes(
    lockstep: Command, mistake: Callable[..., str], files: Path
) -> None:
    from PIL import Image

    def draw(*names: str) -> None:
        for name in names:
            (files / name).parent.mkdir(parents=True, exist_ok=True)
            Image.new("L", (12, 12), 9).save(files / name)

    look = ("data", "look", "marks", "--json")
    train = ("train", "images-mlp", "--data.file", "marks", "--batch-size", "1")
    draw(
        *(f"marks/{folder}/0.png" for folder in ("train/cat", "train/dog", "test/cat", ".git/cat"))
    )
    (files / "marks" / "labels.csv").write_text("names,of,pictures")
    assert lockstep(*look).json["remarks"] == []
    draw("marks/val/cat/0.png", "marks/val/cat/1.png")
    told = "'val' is not read (2 pictures): only train/ and test/ are"
    assert lockstep(*look).json["remarks"] == [told]
    done = lockstep(*train, "--framework", "numpy", "--max-steps", "1", "--out", "run", "--quiet")
    assert done.code == 0, done.err
    assert "without 2 pictures beside train/" in (files / "run" / "data.json").read_text()
    draw("marks/train/cat/old/0.png")
    outside = "has 1 of its pictures outside the folders of classes. Move train/cat/old/0.png into"
    assert outside in mistake(*look)
    draw("cars/train/0.png", "cars/car/0.png")
    assert lockstep("data", "look", "cars", "--json").json["counts"] == {"car": 1, "train": 1}
    draw("cars/0.png", "cars/car/red/0.png")
    assert "has 2 of its pictures outside" in mistake("data", "look", "cars")


def test_names_in_any_script_are_in_the_charts_of_the_page(lockstep: Command, files: Path) -> None:
    """Drawn with their code points, for a figure's fonts may lack them; a $ begins no formula."""
    (files / "named.csv").write_text(
        "价格 ($),$x_$^,c\n" + "".join(f"{i},{-i},{i}\n" for i in range(9))
    )
    names = np.array(["猫", "$x_$^", "<b>&"])[np.arange(60) % 3]
    np.savez(files / "named.npz", x=np.arange(60 * 196).reshape(60, 14, 14) % 255, y=names)
    for file, shown in (
        ("named.csv", ["价格 ($)", "$x_$^"]),
        ("named.npz", ["猫", "$x_$^", "&lt;b&gt;&amp;"]),
        ("signs.txt", []),
    ):
        done = lockstep("data", "look", file, "--page", "page.html")
        assert (done.code, done.err) == (0, "")
        page = (files / "page.html").read_text()
        charts = page[page.index("<svg") : page.rindex("</svg>")]
        assert ">@" not in charts
        for name in shown:
            assert f">{name}</text>" in charts


def test_a_header_of_numbers_beside_an_empty_name(lockstep: Command, files: Path) -> None:
    """As pandas writes a frame without names, with its index."""
    (files / "frame.csv").write_text(rows().replace("a,b,price", ",0,1"))
    look = ("data", "look", "frame.csv", "--data.header", "yes")
    found = lockstep(*look, "--json").json
    assert [column["name"] for column in found["columns"]] == ["column 1", "0", "1"]
    assert "'column 1' counts the rows: it is left out" in lockstep(*look).out


def test_words_that_are_all_different_are_no_classes(lockstep: Command, files: Path) -> None:
    (files / "names.csv").write_text(
        "a,b,name\n" + "".join(f"{i},{i % 4},n{i}\n" for i in range(15))
    )
    words = shlex.split(lockstep("data", "look", "names.csv", "--json").json["command"])
    assert words[2] == "table-linear"
    assert words[words.index("--data.target") + 1] == "b"
