"""Tables in every format: written and read back, and bytes of any kind."""

from __future__ import annotations

import csv
import gzip
import io
import string
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lockstep.data import own_images, own_text
from lockstep.data.encoding import Encoding
from lockstep.data.given_file import npz_arrays
from lockstep.data.new_rows import new_rows
from lockstep.data.own_table import DATA_SET, labels
from lockstep.data.table_file import read_table
from lockstep.errors import InputError
from lockstep.spec import ImageFiles, Table, TextFile

FINITE = st.floats(allow_nan=False, allow_infinity=False, width=64)
LETTERS = string.ascii_letters + " ,;\"'é猫"
WORDS = st.text(LETTERS, min_size=1, max_size=6).map(lambda name: f"n{name.strip()}")
NAMES = st.lists(WORDS, min_size=1, max_size=4, unique=True)


@st.composite
def tables(draw: Any) -> dict[str, np.ndarray]:
    names = draw(NAMES)
    rows = draw(st.integers(1, 6))
    return {n: np.array(draw(st.lists(FINITE, min_size=rows, max_size=rows))) for n in names}


def as_text(columns: dict[str, np.ndarray], separator: str) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, delimiter=separator)
    writer.writerow(columns)
    writer.writerows(zip(*(c.tolist() for c in columns.values()), strict=True))
    return file.getvalue().encode()


def as_npz(columns: dict[str, np.ndarray]) -> bytes:
    file = io.BytesIO()
    np.savez(file, **{f"c{i}": c for i, c in enumerate(columns.values())})
    return file.getvalue()


def as_parquet(columns: dict[str, np.ndarray]) -> bytes:
    pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file)
    return file.getvalue()


@settings(deadline=None, max_examples=40)
@given(tables())
def test_what_is_written_is_read_back(columns: dict[str, np.ndarray]) -> None:
    several = len(columns) > 1  # the separator of one column cannot be seen
    for name, separator in (("comma", ","), ("semicolon", ";"), ("tab", "\t")):
        content = as_text(columns, separator)
        for packed in (content, gzip.compress(content), b"\xef\xbb\xbf" + content):
            check(read_table(Path("t.csv"), packed, "yes", name), columns)
        if several and not any(c in "".join(columns) for c in ",;\t"):
            check(read_table(Path("t.csv"), content, "auto", "auto"), columns)
    check(read_table(Path("t.parquet"), as_parquet(columns), "auto", "auto"), columns)
    numbered = {f"c{i}": column for i, column in enumerate(columns.values())}
    check(read_table(Path("t.npz"), as_npz(columns), "auto", "auto"), numbered)
    rows = zip(*(c.tolist() for c in columns.values()), strict=True)
    plain = "\n".join("  ".join(map(repr, row)) for row in rows).encode()
    unnamed = {str(i): column for i, column in enumerate(columns.values(), 1)}
    check(read_table(Path("t.dat"), plain, "auto", "space"), unnamed)


def check(table: Any, columns: dict[str, np.ndarray]) -> None:
    assert [name.strip() for name in table.names] == [name.strip() for name in columns]
    for i, column in enumerate(columns.values()):
        np.testing.assert_array_equal(table.numbers(i), column)


BEGINNINGS = (
    b"",
    b"a,b\n1,2\n",
    b"PK\x03\x04",
    b"\x1f\x8b\x08",
    b"PAR1",
    b"\x00\x00\x08\x03",
    b"\xff\xfe",
)


@settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.sampled_from(BEGINNINGS),
    st.binary(max_size=60),
    st.sampled_from(["t.csv", "a.png", "a-images-idx3-ubyte"]),
)
def test_any_bytes_are_read_or_refused(
    tmp_path: Path, beginning: bytes, rest: bytes, name: str
) -> None:
    """Only InputError, whatever the bytes."""
    path = tmp_path / name
    path.write_bytes(beginning + rest)
    (tmp_path / "a-labels-idx1-ubyte").write_bytes(rest)
    file = str(path)
    loads = (
        (DATA_SET, Table(file=file)),
        (DATA_SET, Table(file=file, target_is="class", missing="mean", separator="space")),
        (own_text.DATA_SET, TextFile(file=file, window=1)),
        (own_text.DATA_SET, TextFile(file=file, window=1, symbols="all")),
        (own_images.DATA_SET, ImageFiles(file=file)),
    )
    for data_set, part in loads:
        try:
            loaded = data_set.load(part, 0, None)
        except InputError:
            continue
        assert len(next(iter(loaded.splits["train"].values())))


@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_a_damaged_archive_is_read_or_refused(tmp_path: Path, data: Any) -> None:
    """One byte of a good npz, gzip or Parquet changed, or its end cut off."""
    columns = {"a": np.arange(2000.0), "b": np.arange(2000.0) * 2}  # more than is read ahead
    make = data.draw(
        st.sampled_from([as_npz, as_parquet, lambda c: gzip.compress(as_text(c, ","))])
    )
    content = bytearray(make(columns))
    at = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content[at] ^= data.draw(st.integers(1, 255))
    else:
        del content[at:]
    path = tmp_path / "t.npz"
    path.write_bytes(content)
    try:
        loaded = DATA_SET.load(Table(file=str(path), standardize="none"), 0, None)
    except InputError:
        return
    assert len(loaded.splits["train"]["x"])


def test_a_changed_byte_of_an_arrays_header_is_refused() -> None:
    """The sizes of the file stay, so that nothing but the checksum tells."""
    content = as_npz({"a": np.arange(2000.0)})
    begin = content.index(b"\x93NUMPY")
    for at in range(begin, content.index(b"\n", begin) + 1):
        changed = bytearray(content)
        changed[at] ^= 12  # <f8 becomes <f4
        with pytest.raises(InputError, match=r"is a damaged npz \(Bad CRC-32"):
            npz_arrays(Path("t.npz"), bytes(changed))


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)", "is no NumPy array"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (1,}", "is no NumPy array"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "holds 8 bytes, not 4"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -1)}", "is a damaged npz"),
    ],
)
def test_an_array_that_does_not_fit_its_header(header: str, problem: str) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        array = b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header.encode() + bytes(8)
        archive.writestr("a.npy", array)
    with pytest.raises(InputError, match=problem):
        npz_arrays(Path("t.npz"), file.getvalue())


def test_a_table_is_left_at_its_first_row_of_another_length() -> None:
    """What comes after it, here an open quote, is not looked at: of prose that would be all."""
    with pytest.raises(InputError, match="line 2 has 3 cells, line 1 has 2"):
        read_table(Path("t.csv"), b'a,b\n1,2,3\n"open', "auto", "auto")


def test_underscores_are_no_part_of_numbers() -> None:
    """Python reads 2020_01 as 202001."""
    table = read_table(Path("t.csv"), b"month,sold\n2020_01,3\n2020_02,4\n", "auto", "auto")
    assert table.has_words(0)
    with pytest.raises(InputError, match="line 2, column 'month': '2020_01' is no number"):
        table.numbers(0)
    assert labels(table, 0)[0] == ("2020_01", "2020_02")


def test_columns_of_a_run_without_header_are_taken_by_their_numbers(tmp_path: Path) -> None:
    """And those of other runs are not, whatever their names are."""
    new = tmp_path / "new.csv"
    new.write_text("c,a,b\n1,2,3\n4,5,7\n")

    def taken(names: tuple[str, ...], target: str, header: str = "auto") -> list[list[float]]:
        plain = Encoding((2,), 1, "squared", names, (0.0, 0.0), (1.0, 1.0), target=target)
        return new_rows(Table(header=header), plain, new).x.tolist()

    assert taken(("1", "3"), "2") == [[1, 3], [4, 7]]
    for names, target, header in (
        (("1", "3"), "2", "yes"),
        (("1", "3"), "price", "auto"),
        (("1", "a"), "2", "auto"),
        (("0", "1"), "2", "auto"),
        (("1", "4"), "2", "auto"),
    ):
        with pytest.raises(InputError, match="has no column"):
            taken(names, target, header)
    new = tmp_path / "new.npz"
    np.savez(new, **{"1": np.arange(3), "3": np.arange(3), "b": np.arange(3)})
    with pytest.raises(InputError, match="has no column '2'"):
        taken(("1", "2"), "3")
