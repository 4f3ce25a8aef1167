"""Files that are wrong: exit code 2 and one line that names the file, and the row and column."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import pickle
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lockstep.data import given_file
from lockstep.data.given_file import read_bytes
from lockstep.errors import InputError

Mistake = Callable[..., str]
ROWS = "".join(f"{i},{i * i % 7},{i % 3}\n" for i in range(12))
GOOD = f"width,height,price\n{ROWS}"


def numbered(line: int, text: str) -> str:
    """The good table with another line of that number, the header being line 1."""
    lines = GOOD.splitlines()
    lines[line - 1] = text
    return "\n".join(lines) + "\n"


def npy() -> bytes:
    file = io.BytesIO()
    np.save(file, np.zeros((3, 2)))
    return file.getvalue()


def zipped(name: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, GOOD)
    return file.getvalue()


TABLES: dict[str, tuple[bytes | str, str]] = {
    "empty": (b"", "is empty"),
    "blank": ("\n\n \n", "has no rows"),
    "a header alone": ("a,b\n", "has no rows"),
    "binary": (b"width,height\n1,\0\x02\n", "is binary (a zero byte at 15)"),
    "UTF-16": (GOOD.encode("utf-16"), "is UTF-16 text, not UTF-8"),
    "UTF-16 without a mark": (GOOD.encode("utf-16-le"), "is binary"),
    "Latin-1": (GOOD.replace("width", "Größe").encode("latin-1"), "byte 0xf6 in line 1"),
    "ragged": (numbered(5, "1,2"), "line 5 has 2 cells, line 1 has 3"),
    "a word": (numbered(4, "1,wide,3"), "line 4, column 'height': 'wide' is no number"),
    "missing": (numbered(6, "1,,3"), "line 6, column 'height': '' is missing"),
    "NaN": (numbered(6, "1,NaN,3"), "line 6, column 'height': 'NaN' is missing"),
    "infinite": (numbered(7, "1,-inf,3"), "line 7, column 'height': '-inf' is infinite"),
    "missing target": (numbered(3, "1,2,?"), "line 3, column 'price': '?' is missing"),
    "constant": ("a,b,price\n" + "".join(f"{i},4,{i}\n" for i in range(9)), "'b' is constant (4)"),
    "constant target": (
        "a,price\n" + "".join(f"{i},4\n" for i in range(9)), "'price' is constant (4)"
    ),
    "two of a name": ("a,a,price\n1,2,3\n2,3,4\n", "has two columns 'a'"),
    "one column": ("price\n1\n2\n3\n", "leaves no features"),
    "decimal commas": ("a;price\n1,5;2,5\n2,5;3,5\n", "line 2, column 'price': '2,5' is no number"),
    "damaged gzip": (gzip.compress(GOOD.encode())[:-20], "is damaged gzip"),
    "damaged Parquet": (b"PAR1" + b"\0" * 40, "is no readable Parquet"),
    "UTF-32": (GOOD.encode("utf-32"), "is UTF-32 text, not UTF-8"),
    "Chinese in its own encoding": (GOOD.replace("width", "面积").encode("gb18030"), "GB18030"),
    "cut within a character": ("a,面".encode()[:-1], "ends within a character of UTF-8, in line 1"),
    "a header of years": (
        GOOD.replace("height,price", "2019,2020"),
        "line 1, column '1': 'width' is no number. If that line is a header, say --data.header yes",
    ),
    "an empty column": ("a,b,price\n1,,3\n2,,4\n3,,6\n", "'b' is empty. Leave it out: --data.with"),
    "an empty target": ("a,price\n1,\n2,\n3,\n", "'price' is empty. Learn another: --data.target"),
    "a frame without names": (
        GOOD.replace("width,height,price", ",0,1"),
        "line 1, column '1': '' is missing. If that line is a header, say --data.header yes",
    ),
    "an open quote": (numbered(5, '1,"2,3'), "line 5: a quote is not closed. Check the quotes"),
    "thousands": (numbered(4, '1,"2,500",3'), "nothing between thousands: 1234.5"),
    "bars": (GOOD.replace(",", "|"), "apart by comma, semicolon, tab or space"),
    "too large": ("a,b\n1,1e200\n2,2e200\n3,3e200\n", "'b' has numbers too large to standardise"),
    "largest": ("a,b\n1,1e308\n2,-1e308\n3,1e308\n", "'b' has numbers too large to standardise"),
    "too small": ("a,b\n1,1e-300\n2,0\n3,2e-300\n", "'b' has numbers too small to standardise"),
    "one array": (npy(), "is one array (npy). Save it with its target"),
    "Excel": (zipped("xl/workbook.xml"), "is an Excel workbook. Save its sheet as CSV"),
    "a zip of a table": (zipped("prices.csv"), "is a zip of other files (prices.csv). Unpack it"),
    "bzip2": (bz2.compress(GOOD.encode()), "is compressed by bzip2"),
    "xz": (lzma.compress(GOOD.encode()), "is compressed by xz"),
    "damaged zip": (b"PK\x03\x04" + b"x" * 50, "is a damaged npz"),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_a_wrong_table_is_refused(mistake: Mistake, folder: Path, name: str) -> None:
    content, problem = TABLES[name]
    (folder / "prices.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    said = mistake("train", "table-linear", "--data.file", "prices.csv", *QUICK)
    assert problem in said
    assert "prices.csv" in said


QUICK = ("--framework", "numpy", "--max-steps", "1", "--data.held_out", "0", "--evaluate", "train",
         "--batch-size", "2")  # fmt: skip


@pytest.mark.parametrize("recipe", ["table-linear", "table-mlp", "table-softmax"])
def test_decimal_commas_are_no_classes(mistake: Mistake, folder: Path, recipe: str) -> None:
    for content in ("a;price\n1,5;2,5\n2,5;3\n", "a;price\n1;2,5\n2;3\n"):
        (folder / "prices.csv").write_text(content)
        said = mistake("train", recipe, "--data.file", "prices.csv", *QUICK)
        assert "line 2, column 'price': '2,5' is no number. Write numbers with a decimal" in said


def test_a_column_that_is_not_there_names_the_nearest(mistake: Mistake, folder: Path) -> None:
    (folder / "prices.csv").write_text(GOOD)
    train = ("train", "table-linear", "--data.file", "prices.csv", *QUICK)
    assert "Did you mean 'price'?" in mistake(*train, "--data.target", "prize")
    assert "Did you mean 'height'?" in mistake(*train, "--data.columns", "heigth,width")
    assert "is not known" in mistake(*train, "--data.without", "17")
    assert "'width': is named twice" in mistake(*train, "--data.columns", "width,height,1")
    without = ("--data.without", "width,height")
    assert "or fewer with --data.without" in mistake(*train, *without)


def test_labels_that_are_not_whole_and_one_class(mistake: Mistake, folder: Path) -> None:
    (folder / "kinds.csv").write_text("a,kind\n1,0\n2,1.5\n3,1\n4,0\n")
    train = ("train", "table-softmax", "--data.file", "kinds.csv", *QUICK)
    assert "line 3, column 'kind': '1.5' is no label: it is not whole" in mistake(*train)
    (folder / "kinds.csv").write_text("a,kind\n1,yes\n2,yes\n3,yes\n")
    assert "column 'kind' has one class only (yes)" in mistake(*train)


def test_a_million_columns(mistake: Mistake, folder: Path) -> None:
    (folder / "wide.csv").write_text(",".join("1" * 1_000_000) + "\n")
    said = mistake("train", "table-linear", "--data.file", "wide.csv", *QUICK)
    assert "has 1,000,000 columns, over the limit" in said


@pytest.mark.parametrize(
    ("way", "rows"), [("drop", "0.5,1.5,2.5"), ("mean", "0.5,1.5,2.5,1.5")], ids=["drop", "mean"]
)
def test_missing_values_are_dropped_or_filled_on_request(
    lockstep: Any, folder: Path, way: str, rows: str
) -> None:
    (folder / "prices.csv").write_text("a,price\n0.5,1\n1.5,2\n2.5,4\n,3\n")
    train = ("train", "table-linear", "--data.file", "prices.csv", *QUICK, "--json", "--quiet")
    done = lockstep(*train, "--data.missing", way, "--out", "run")
    assert done.code == 0, done.err
    values = np.array([float(v) for v in rows.split(",")])
    encoding = json.loads((folder / "run" / "data.json").read_bytes())["encoding"]
    assert encoding["means"] == pytest.approx([values.mean()])
    assert encoding["stds"] == pytest.approx([values.std()])


@pytest.mark.parametrize("kind", ["npz", "parquet"])
def test_two_columns_of_one_name_in_any_format(mistake: Mistake, folder: Path, kind: str) -> None:
    if kind == "npz":  # x has the columns x1 and x2
        np.savez(folder / "prices.npz", x=np.eye(4)[:, :2], x1=np.arange(4))
    else:
        pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
        from pyarrow import parquet

        columns = [pa.array(np.arange(4.0))] * 3
        table = pa.Table.from_arrays(columns, ["x1", "x1", "price"])
        parquet.write_table(table, folder / "prices.parquet")
    said = mistake("train", "table-linear", "--data.file", f"prices.{kind}", *QUICK)
    assert "has two columns 'x1'. Rename one.\n" in said


# --- npz ------------------------------------------------------------------------------------------


class Trap:
    """Unpickling it would make a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("recipe", ["table-linear", "images-softmax"])
def test_pickled_objects_are_never_unpickled(mistake: Mistake, folder: Path, recipe: str) -> None:
    sprung = folder / "sprung"
    np.savez(folder / "trap.npz", x=np.array([Trap(sprung)] * 3, object), y=np.arange(3))
    said = mistake("train", recipe, "--data.file", "trap.npz", *QUICK)
    assert "x.npy holds pickled Python objects, which are never unpickled" in said
    assert not sprung.exists()
    with np.load(folder / "trap.npz", allow_pickle=True) as file:  # the trap is a real one
        _ = file["x"]
    assert sprung.exists()


def test_a_bare_pickle_is_no_npz(mistake: Mistake, folder: Path) -> None:
    sprung = folder / "sprung"
    content = pickle.dumps(Trap(sprung))
    with zipfile.ZipFile(folder / "trap.npz", "w") as archive:
        archive.writestr("x.npy", content)
    said = mistake("train", "table-linear", "--data.file", "trap.npz", *QUICK)
    assert "x.npy is no NumPy array" in said
    assert not sprung.exists()


def test_a_zip_bomb_is_refused_before_it_is_unpacked(
    mistake: Mistake, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(given_file, "MOST_BYTES", 1_000_000)
    np.savez_compressed(folder / "bomb.npz", x=np.zeros((1000, 1000)), y=np.arange(1000) % 2)
    assert (folder / "bomb.npz").stat().st_size < 30_000
    monkeypatch.setattr(zipfile.ZipFile, "open", None)  # whoever unpacks fails
    for recipe in ("table-linear", "images-softmax"):
        said = mistake("train", recipe, "--data.file", "bomb.npz", *QUICK)
        assert "unpacks to 8,008,256 bytes, over the limit of 1,000,000" in said


def test_what_a_member_says_of_itself_is_not_believed(mistake: Mistake, folder: Path) -> None:
    """A thousand bytes that say they are a gigabyte: nothing as large is made for them."""
    header = io.BytesIO()
    shape = {"descr": "<f8", "fortran_order": False, "shape": (2**27,)}
    np.lib.format.write_array_header_1_0(header, shape)
    with zipfile.ZipFile(folder / "liar.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", header.getvalue() + bytes(1000))
    said = mistake("train", "table-linear", "--data.file", "liar.npz", *QUICK)
    assert "says it has shape (134217728,), but holds 1,000 bytes" in said


def test_gzip_has_a_limit(mistake: Mistake, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given_file, "MOST_BYTES", 10_000)
    (folder / "bomb.csv.gz").write_bytes(gzip.compress(b"1,2\n" * 100_000))
    said = mistake("train", "table-linear", "--data.file", "bomb.csv.gz", *QUICK)
    assert "holds more than 10,000 bytes" in said


# --- files that change, and what is no file -------------------------------------------------------


def test_a_file_that_grows_while_it_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "growing.csv"
    path.write_text(GOOD)
    real = os.fstat

    def grow_after(handle: int) -> os.stat_result:
        found = real(handle)
        with path.open("a") as file:
            file.write("1,2,3\n")
        return found

    monkeypatch.setattr(os, "fstat", grow_after)
    with pytest.raises(InputError, match=r"growing\.csv.*was written to while it was read"):
        read_bytes(path)


def test_a_file_that_another_thread_writes(folder: Path) -> None:
    """Reading either sees the whole of a state, or says that it was written to.

    A kernel shows a write page by page: these end where pages do, so none is seen in parts.
    """
    path, stop = folder / "growing.csv", threading.Event()
    path.write_bytes(b"x" * 1024)

    def write() -> None:
        with path.open("ab", buffering=0) as file:
            while not stop.is_set():
                file.write(b"x" * 1024)

    writer = threading.Thread(target=write)
    writer.start()
    refused, end = 0, time.monotonic() + 20
    try:
        while not refused and time.monotonic() < end:
            try:
                assert len(read_bytes(path)) % 1024 == 0
            except InputError as error:
                refused += "was written to while it was read" in str(error)
    finally:
        stop.set()
        writer.join(10)
    assert refused
    assert len(read_bytes(path)) == path.stat().st_size


@pytest.mark.parametrize("recipe", ["table-linear", "text-rnn", "images-softmax"])
def test_what_is_no_file(mistake: Mistake, folder: Path, recipe: str) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "nothing").mkdir()
    (folder / "loop").symlink_to(folder / "loop")
    what = {"pipe": "is no regular file", "nothing": "", "nowhere": "is not there", "loop": ""}
    for name, problem in what.items():
        said = mistake("train", recipe, "--data.file", name, *QUICK)
        assert problem in said
        assert name in said


@pytest.mark.parametrize("name", ["t\udce9.csv", "t\udce9/t.csv"], ids=["file", "folder"])
def test_a_name_that_is_not_utf8(mistake: Mistake, folder: Path, name: str) -> None:
    """As old zip files have them: Python stands in for such bytes by lone surrogates."""
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(GOOD)
    for words in (("train", "table-linear", "--data.file", name, *QUICK), ("data", "look", name)):
        assert "t\\udce9" in (said := mistake(*words))
        assert "has a name that is not UTF-8. Rename it." in said


# --- texts and pictures ---------------------------------------------------------------------------

TEXTS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty"),
    "binary": (b"ab\0cd" * 9, "is binary (a zero byte at 2)"),
    "UTF-16": (("Text" * 9).encode("utf-16"), "is UTF-16 text"),
    "Latin-1": (b"abc\nd\xe9f" * 9, "is not UTF-8: byte 0xe9 in line 2"),
    "no letters": (b"12345 67890\n" * 9, "has none of the letters a to z"),
    "too short": (b"abc", ""),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_wrong_text_is_refused(mistake: Mistake, folder: Path, name: str) -> None:
    content, problem = TEXTS[name]
    (folder / "book.txt").write_bytes(content)
    said = mistake("train", "text-rnn", "--data.file", "book.txt", *QUICK)
    assert problem in said


def test_a_byte_order_mark_is_no_symbol(lockstep: Any, folder: Path) -> None:
    (folder / "book.txt").write_bytes("\ufeffabc ".encode() + b"abc " * 40)
    small = ("--data.window", "4", "--model.num_hiddens", "4", "--data.symbols", "all")
    train = ("train", "text-rnn", "--data.file", "book.txt", *QUICK, *small, "--out", "run")
    assert lockstep(*train, "--quiet").code == 0
    text = lockstep("generate", "run", "--num", "9").out
    assert set(text) <= set("abc \n")
    (folder / "t.csv").write_bytes(b"\xef\xbb\xbfwidth,price\n1,2\n2,3\n")
    train = ("train", "table-linear", "--data.file", "t.csv", *QUICK, "--data.columns", "width")
    assert lockstep(*train, "--quiet").code == 0


def picture(width: int = 8, mode: str = "RGB") -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.new(mode, (width, 8), 200 if mode != "RGB" else (200, 10, 10)).save(file, "PNG")
    return file.getvalue()


PICTURES: dict[str, tuple[bytes, str]] = {
    "another size": (picture(9), "is 9 x 8 colour, 0.png is 8 x 8 colour"),
    "grey": (picture(8, "L"), "is 8 x 8 grey, 0.png is 8 x 8 colour"),
    "cut off": (picture()[:-30], "is damaged"),
    "no picture": (b"GIF? no", "is no picture"),
    "empty": (b"", "is empty"),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_wrong_picture_is_refused(mistake: Mistake, folder: Path, name: str) -> None:
    content, problem = PICTURES[name]
    for kind in ("cat", "dog"):
        (folder / "marks" / kind).mkdir(parents=True)
        (folder / "marks" / kind / "0.png").write_bytes(picture())
    (folder / "marks" / "dog" / "7.png").write_bytes(content)
    said = mistake("train", "images-softmax", "--data.file", "marks", *QUICK)
    assert problem in said
    assert "dog/7.png" in said


def test_a_picture_whose_name_is_not_utf8(mistake: Mistake, folder: Path) -> None:
    for kind in ("cat", "d\udce9g"):
        (folder / "marks" / kind).mkdir(parents=True)
        (folder / "marks" / kind / "0.png").write_bytes(picture())
    said = mistake("train", "images-softmax", "--data.file", "marks", *QUICK)
    assert "d\\udce9g/0.png': has a name that is not UTF-8" in said


IMAGES: dict[str, tuple[dict[str, Any], str]] = {
    "no y": ({"x": np.zeros((4, 5, 5), np.uint8)}, "has no array 'y', but x"),
    "fewer labels": (
        {"x": np.zeros((4, 5, 5), np.uint8), "y": np.arange(3)},
        "y (3,) has not one label for each picture of x (4, 5, 5)",
    ),
    "one class": ({"x": np.zeros((4, 5, 5), np.uint8), "y": np.ones(4, int)}, "one class only (1)"),
    "labels not whole": (
        {"x": np.zeros((4, 5, 5), np.uint8), "y": np.arange(4) / 2},
        "has a label that is neither whole nor a word: 0.5 of picture 2",
    ),
    "one-hot labels": (
        {"x": np.zeros((4, 5, 5), np.uint8), "y": np.eye(4)},
        "Of one-hot rows give y.argmax(axis=1)",
    ),
    "labels missing": (
        {"x": np.zeros((4, 5, 5), np.uint8), "y": np.array([0, 1, np.nan, np.inf])},
        "neither whole nor a word: nan of picture 3",
    ),
    "NaN": (
        {"x": np.array([[[1.0, np.nan]], [[1.0, 0.0]]]), "y": np.arange(2)},
        "picture 1 of x has a NaN or inf",
    ),
    "flat": ({"x": np.zeros((4, 25)), "y": np.arange(4)}, "which are no pictures"),
}


@pytest.mark.parametrize("name", IMAGES)
def test_wrong_images_are_refused(mistake: Mistake, folder: Path, name: str) -> None:
    arrays, problem = IMAGES[name]
    np.savez(folder / "marks.npz", **arrays)
    said = mistake("train", "images-softmax", "--data.file", "marks.npz", *QUICK)
    assert problem in said
    assert "marks.npz" in said


def idx(values: np.ndarray) -> bytes:
    sizes = b"".join(int(size).to_bytes(4, "big") for size in values.shape)
    return b"\0\0\x08" + bytes([values.ndim]) + sizes + values.astype(np.uint8).tobytes()


def test_wrong_idx_files(mistake: Mistake, folder: Path) -> None:
    images, labels = idx(np.zeros((4, 5, 5))), idx(np.arange(4))
    path, other = folder / "train-images-idx3-ubyte", folder / "train-labels-idx1-ubyte"
    train = ("train", "images-softmax", "--data.file", path.name, *QUICK)
    path.write_bytes(images)
    assert "It has the labels of train-images-idx3-ubyte" in mistake(*train)
    other.write_bytes(labels[:-1])
    assert "holds 3 values, its header says (4,)" in mistake(*train)
    other.write_bytes(labels)
    path.write_bytes(gzip.compress(images[:-7]))
    assert "is no whole IDX file" in mistake(*train)
    huge = b"\0\0\x08\x04" + 4 * (2**16).to_bytes(4, "big")  # 2**64 values: 0 of 64 bits
    path.write_bytes(huge)
    assert "is no whole IDX file" in mistake(*train)
