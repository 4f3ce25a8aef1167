"""A table from a file: named columns of text or numbers. What they mean is not known here."""

from __future__ import annotations

import csv
import difflib
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lockstep.data import given_file
from lockstep.data.given_file import decoded, refuse
from lockstep.errors import several, unknown

MOST_COLUMNS = 100_000
NO_VALUE = ("", "na", "n/a", "nan", "null", "none", "?")
DECIMAL_COMMA = re.compile(r"[-+]?[0-9]*,[0-9]+")
WITH_POINT = "Write numbers with a decimal point, and nothing between thousands: 1234.5."
SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t"}


@dataclass(frozen=True, eq=False)
class ReadTable:
    """Columns by name, each an array of numbers or a list of text; row i lies in `lines[i]`."""

    path: Path
    names: tuple[str, ...]
    columns: Sequence[Sequence[str] | NDArray[np.float64]]
    lines: Sequence[int]
    unit: str = "line"  # what `lines` count

    def __len__(self) -> int:
        return len(self.lines)

    def find(self, field: str, name: str) -> int:
        """The column of that name, or number: 1 is the first, -1 the last."""
        if name in self.names:
            return self.names.index(name)
        width = len(self.names)
        try:
            number = int(name)
        except ValueError:
            number = 0
        if 1 <= abs(number) <= width:
            return number - 1 if number > 0 else width + number
        near = difflib.get_close_matches(name, self.names, n=8, cutoff=0.3)
        raise unknown(field, name, near if width > 30 and near else self.names[:30])

    def place(self, row: int, column: int) -> str:
        """Where a cell is, for a message."""
        return f"{self.unit} {self.lines[row]}, column {self.names[column]!r}"

    def numbers(self, column: int, remedy: str = "") -> NDArray[np.float64]:
        """A column as numbers, NaN where it has none; a word or an infinite number is refused."""
        cells = self.columns[column]
        try:
            if not isinstance(cells, np.ndarray) and "_" in "".join(cells):
                raise ValueError  # NumPy would read 2020_01 as 202001
            values = np.array(cells, np.float64)
        except ValueError:
            leave = f"Correct it, or leave the column out: --data.without {self.names[column]}."
            remedy = remedy or leave
            values = np.array([self._number(row, column, remedy) for row in range(len(self))])
        if (wrong := np.isinf(values)).any():
            row = int(wrong.argmax())
            raise self.wrong(row, column, "is infinite", "Correct it, or leave the row out.")
        return values

    def has_words(self, column: int) -> bool:
        """Whether a column has a cell that is neither a number nor empty."""
        cells = self.columns[column]
        return not isinstance(cells, np.ndarray) and any(
            not is_number(cell) and cell.strip().lower() not in NO_VALUE for cell in cells
        )

    def _number(self, row: int, column: int, remedy: str) -> float:
        cell = str(self.columns[column][row]).strip()
        if cell.lower() in NO_VALUE:
            return float("nan")
        if is_number(cell):
            return float(cell)
        remedy = WITH_POINT if DECIMAL_COMMA.fullmatch(cell) else remedy
        raise self.wrong(row, column, "is no number", self.header_hint(row) + remedy)

    def header_hint(self, row: int) -> str:
        """What to add to the remedy where the first line was not taken for a header."""
        bare = self.unit == "line" and self.names == counted(len(self.names))
        return "If that line is a header, say --data.header yes. " if bare and row == 0 else ""

    def refuse_missing(
        self, values: NDArray[np.float64], columns: Sequence[int], remedy: str
    ) -> None:
        """Raise for the first of `values` (N, k), of these columns, that is none."""
        lacking = np.isnan(values)
        if lacking.any():
            row, at = (int(i) for i in np.argwhere(lacking)[0])
            raise self.wrong(row, columns[at], "is missing", self.header_hint(row) + remedy)

    def wrong(self, row: int, column: int, problem: str, remedy: str) -> Exception:
        cell = str(self.columns[column][row])[:40]
        return refuse(self.path, f"{self.place(row, column)}: {cell!r} {problem}", remedy)


def is_number(cell: str) -> bool:
    """Whether text reads as a number.

    >>> is_number(" 1e-3 "), is_number("Iris-setosa"), is_number("2020_01"), is_number("")
    (True, False, False, False)
    """
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # between digits Python takes it for none


def read_table_file(file: str, header: str, separator: str) -> tuple[ReadTable, str]:
    """The table of a person's own file, and the file's digest."""
    path = given_file.given_path(file, "a table (CSV, TSV, npz, Parquet)")
    if path.is_dir():
        raise refuse(path, "is a folder", "Give the table itself.")
    content = given_file.read_bytes(path)
    return read_table(path, content, header, separator), given_file.digest_of(content)


def read_table(path: Path, content: bytes, header: str, separator: str) -> ReadTable:
    """The table in a file's `content`, which says by its first bytes what it is."""
    content = given_file.decompressed(path, content)
    if content.startswith(given_file.ZIP):
        return _from_npz(path, given_file.npz_arrays(path, content))
    if content.startswith(given_file.PARQUET):
        return _from_parquet(path, content)
    return _from_text(path, decoded(path, content), header, separator)


def _from_text(path: Path, text: str, header: str, separator: str) -> ReadTable:
    rows: list[list[str]] = []
    lines: list[int] = []
    for row, line in _rows(path, text, separator):
        # at once: prose, which is no table, is left at its second line
        if rows and len(row) != len(rows[0]):
            there = f"line {lines[0]} has {len(rows[0]):,}"
            remedy = "Give every row as many cells; put a cell that holds a separator in quotes."
            raise refuse(path, f"line {line} has {several(len(row), 'cell')}, {there}", remedy)
        rows.append(row)
        lines.append(line)
    if not rows:
        raise refuse(path, "has no rows", "Give a file with data in it.")
    first, width = rows[0], len(rows[0])
    if width > MOST_COLUMNS:
        problem = f"has {width:,} columns, over the limit of {MOST_COLUMNS:,}"
        raise refuse(path, problem, "Give fewer.")
    named = header == "yes" or (header == "auto" and not any(map(is_number, first)))
    names = _header(first) if named else counted(width)
    if named:
        rows, lines = rows[1:], lines[1:]
    return _checked(ReadTable(path, names, list(zip(*rows, strict=True)), lines))


def _header(cells: list[str]) -> tuple[str, ...]:
    """Names of columns; an empty one is its number, but where another column has that name."""
    names = [cell.strip() for cell in cells]
    own = [str(i) if str(i) not in names else f"column {i}" for i in range(1, 1 + len(names))]
    return tuple(name or number for name, number in zip(names, own, strict=True))


def _rows(path: Path, text: str, separator: str) -> Iterator[tuple[list[str], int]]:
    """Cells by row, and the line of the file that each begins in; blank lines are left out."""
    if separator == "auto":
        first = next((line for line in io.StringIO(text, newline=None) if line.strip()), "")
        found = [name for name in ("tab", "semicolon", "comma") if SEPARATORS[name] in first]
        separator = found[0] if found else "space"
    if separator == "space":
        cells = ((line.split(), i) for i, line in enumerate(io.StringIO(text, newline=None), 1))
        yield from ((row, i) for row, i in cells if row)
        return
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=SEPARATORS[separator], strict=True)
    before = 0
    try:
        for row in reader:
            if row and (len(row) > 1 or row[0].strip()):
                yield row, before + 1
            before = reader.line_num
    except csv.Error as error:
        unclosed = str(error) == "unexpected end of data"
        problem = "a quote is not closed" if unclosed else str(error)
        raise refuse(path, f"line {before + 1}: {problem}", "Check the quotes there.") from error


def _from_npz(path: Path, arrays: dict[str, np.ndarray]) -> ReadTable:
    """Arrays (N,) are columns by name, an array (N, k) is k columns: x1, x2 ... for x."""
    names: list[str] = []
    columns: list[NDArray[np.float64] | list[str]] = []
    for name, array in arrays.items():
        if array.ndim not in (1, 2) or array.dtype.kind not in "fiubU":
            problem = f"{name} is {array.dtype} of shape {array.shape}, no column of a table"
            raise refuse(path, problem, "Give arrays (N,) or (N, k) of numbers or text.")
        if array.ndim == 2 and array.shape[1] > MOST_COLUMNS:
            problem = f"{name} has {array.shape[1]:,} columns, over the limit of {MOST_COLUMNS:,}"
            raise refuse(path, problem, "Give fewer.")
        parts = [array] if array.ndim == 1 else list(array.T)
        for i, part in enumerate(parts, 1):
            names.append(name if len(parts) == 1 else f"{name}{i}")
            text = part.dtype.kind == "U"
            columns.append([str(v) for v in part] if text else part.astype(np.float64))
    sizes = {name: len(column) for name, column in zip(names, columns, strict=True)}
    if len(set(sizes.values())) != 1:
        raise refuse(path, f"its columns differ in length: {sizes}", "Give as many of each.")
    lines = range(1, 1 + next(iter(sizes.values())))
    return _checked(ReadTable(path, tuple(names), columns, lines, "row"))


def _from_parquet(path: Path, content: bytes) -> ReadTable:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise given_file.optional("pyarrow", "parquet", path) from error
    try:
        table = parquet.ParquetFile(pa.BufferReader(content)).read()
    except (pa.ArrowException, OSError) as error:
        problem = f"is no readable Parquet ({str(error).splitlines()[0]})"
        raise refuse(path, problem, "Write it anew.") from error
    columns: list[list[str] | NDArray[np.float64]] = []
    for column in table.columns:
        kind = column.type
        if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
            values = [np.nan if value is None else float(value) for value in column.to_pylist()]
            columns.append(np.array(values, np.float64))
        else:
            columns.append(["" if v is None else str(v) for v in column.to_pylist()])
    lines = range(1, table.num_rows + 1)
    return _checked(ReadTable(path, tuple(table.column_names), columns, lines, "row"))


def _checked(table: ReadTable) -> ReadTable:
    if not len(table):
        raise refuse(table.path, "has no rows", "Give a file with data in it.")
    if len(table.names) > MOST_COLUMNS:
        raise refuse(table.path, f"has {len(table.names):,} columns", "Give fewer.")
    seen: set[str] = set()
    for name in table.names:
        if name in seen:
            problem = f"has two columns {name!r}"
            other = ", or say --data.header no" if table.unit == "line" else ""
            raise refuse(table.path, problem, f"Rename one{other}.")
        seen.add(name)
    return table


def counted(width: int) -> tuple[str, ...]:
    """The names of columns that have none.

    >>> counted(3)
    ('1', '2', '3')
    """
    return tuple(str(i) for i in range(1, width + 1))
