"""What is in a person's own table: its columns, and what to know and say to train on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lockstep.data.table_file import DECIMAL_COMMA, NO_VALUE, ReadTable, is_number
from lockstep.errors import several

MOST_CLASSES = 20  # a column of more different words is free text, of whole numbers a number
BINS = 20
# names of columns that may count the rows
COUNTERS = ("id", "index", "no", "nr", "row", "unnamed: 0", "1", "column 1")
LEAST_ROWS = 3  # a fifth is held out


@dataclass(frozen=True)
class Column:
    """One column: kind is number, class, words (too many to be classes, or numbers that cannot be
    read), infinite (some of its numbers are), constant or empty."""

    name: str
    kind: str
    missing: int
    least: float | None = None
    mean: float | None = None
    greatest: float | None = None
    values: tuple[tuple[str, int], ...] = ()  # the most frequent, of classes and words
    bins: tuple[int, ...] = ()  # a histogram from least to greatest


@dataclass(frozen=True, eq=False)
class _Cells:
    """A column as it reads: numbers (NaN where there is none), which rows hold words or nothing."""

    numbers: NDArray[np.float64]
    words: NDArray[np.bool_]
    absent: NDArray[np.bool_]


def look_at(table: ReadTable) -> tuple[tuple[Column, ...], list[str], list[str], int]:
    """The columns, remarks, the words of a command that trains after `lockstep train` (none where
    nothing can be trained), and how many rows it uses."""
    cells = [_cells(column) for column in table.columns]
    columns = tuple(_column(table, i, read) for i, read in enumerate(cells))
    fitting = [
        i
        for i, column in enumerate(columns)
        if column.kind in ("number", "class") and not _counts_rows(column, len(table))
    ]
    target = fitting[-1] if fitting else -1
    used = [i for i in fitting if i == target or columns[i].kind == "number"]
    remarks = [
        remark
        for i in range(len(columns))
        if (remark := _remark(table, i, columns[i], cells[i], i in used))
    ]
    if len(used) < 2:
        separators = " Separators are comma, semicolon, tab and space." if len(columns) < 2 else ""
        remarks.append(f"a model needs a column to learn, and numbers beside it.{separators}")
        return columns, remarks, [], 0
    lacking = np.any([cells[i].absent for i in used], axis=0)
    complete = len(table) - int(lacking.sum())
    if complete < LEAST_ROWS:
        without = " without missing values" if lacking.any() else ""
        remarks.append(f"it has too few rows{without} to train on")
        return columns, remarks, [], 0
    recipe = "table-softmax" if columns[target].kind == "class" else "table-linear"
    words = [recipe, "--data.target", _named(target, columns)]
    without = ",".join(_named(i, columns) for i in range(len(columns)) if i not in used)
    words += ["--data.without", without] if without else []
    if lacking.any():
        missing = several(sum(columns[i].missing for i in used), "missing value")
        dropped = several(int(lacking.sum()), "row")
        remarks.append(f"{missing} in {dropped}, which are dropped; --data.missing mean fills them")
        words += ["--data.missing", "drop"]
    return columns, remarks, words, complete


def _cells(column: Sequence[str] | NDArray[np.float64]) -> _Cells:
    if isinstance(column, np.ndarray):
        return _Cells(column, np.zeros(len(column), bool), np.isnan(column))
    numbers = np.array([float(cell) if is_number(cell) else np.nan for cell in column])
    absent = np.array([cell.strip().lower() in NO_VALUE for cell in column])
    return _Cells(numbers, np.isnan(numbers) & ~absent, absent)


def _counts_rows(column: Column, rows: int) -> bool:
    span = (column.greatest or 0) - (column.least or 0)
    counts = rows > 2 and not column.missing and span == rows - 1
    return counts and column.name.lower() in COUNTERS


def _named(index: int, columns: Sequence[Column]) -> str:
    """By name, or by number where the name would be taken for several or for an option."""
    name = columns[index].name
    plain = name and "," not in name and name[0] not in "-["
    return name if plain else str(index + 1)


def _column(table: ReadTable, index: int, cells: _Cells) -> Column:
    name = table.names[index]
    missing = int(cells.absent.sum())
    if cells.words.any():
        column = table.columns[index]
        found = Counter(
            str(cell).strip() for cell, no in zip(column, cells.absent, strict=True) if not no
        )
        # of several rows each, or there is nothing to learn of one
        few = len(found) <= min(max(MOST_CLASSES, len(table) // 50), (len(table) + 1) // 2)
        kind = "class" if few and not _decimal_commas(table, index, cells) else "words"
        return Column(name, "constant" if len(found) == 1 else kind, missing, values=_most(found))
    there = cells.numbers[np.isfinite(cells.numbers)]
    infinite = int(np.isinf(cells.numbers).sum())
    kind = "infinite" if infinite else "number"
    worth = (("infinite", infinite),) if infinite else ()
    if not len(there):
        return Column(name, kind if infinite else "empty", missing, values=worth)
    least, greatest = float(there.min()), float(there.max())
    if kind == "number" and least == greatest:
        kind = "constant"
    return Column(name, kind, missing, least, _mean(there), greatest, worth, _bins(there))


def _mean(values: NDArray[np.float64]) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(values.mean())
    return mean if np.isfinite(mean) else float((values / len(values)).sum())


def _bins(values: NDArray[np.float64]) -> tuple[int, ...]:
    """A histogram. NumPy's own refuses numbers that are too near each other, or too far apart."""
    with np.errstate(over="ignore"):
        wide = np.isinf(values.max() - values.min())
    values = values / 2 if wide else values
    try:
        return tuple(np.histogram(values, BINS)[0].tolist())
    except ValueError:
        if values.max() == values.min():
            return ()
        where = (values - values.min()) / (values.max() - values.min())
        return tuple(np.histogram(where, BINS, (0, 1))[0].tolist())


def _most(found: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(found.items(), key=lambda item: (-item[1], item[0]))[:MOST_CLASSES])


def _decimal_commas(table: ReadTable, index: int, cells: _Cells) -> bool:
    column = table.columns[index]
    words = np.flatnonzero(cells.words).tolist()
    return all(DECIMAL_COMMA.fullmatch(str(column[row]).strip()) for row in words)


def _remark(table: ReadTable, index: int, column: Column, cells: _Cells, used: bool) -> str:
    """What to know of a column before one trains; empty of one that is as it should be."""
    named = f"column {column.name!r}"
    odd = cells.words | cells.absent
    if len(odd) > 1 and odd[0] and not odd[1:].any() and table.header_hint(0):
        return (
            f"{named} is no number in the first line only: is that line a header? --data.header yes"
        )
    end = "" if used else ": it is left out"
    if column.kind in ("constant", "empty"):
        return f"{named} is {column.kind}{end}"
    if column.kind == "infinite":
        row = int(np.isinf(cells.numbers).argmax())
        return f"{named} has infinite numbers, the first in {table.unit} {table.lines[row]}{end}"
    if column.kind == "number":
        return "" if used else f"{named} counts the rows{end}"
    row, count = int(cells.words.argmax()), int(cells.words.sum())
    first = f"{table.unit} {table.lines[row]}: {str(table.columns[index][row]).strip()[:40]!r}"
    numbers = int(np.isfinite(cells.numbers).sum())
    if _decimal_commas(table, index, cells):
        return f"{named} has numbers with commas ({first}), which are not read{end}"
    if numbers > count:
        words = several(count, "word")
        return f"{named} has {words} among {several(numbers, 'number')} ({first}){end}"
    return "" if used else f"{named} holds words, which are no features{end}"
