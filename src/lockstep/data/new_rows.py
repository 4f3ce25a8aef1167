"""New rows for a model that learned from a table: features as it takes them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lockstep.data.encoding import Encoding
from lockstep.data.examples import NewExamples
from lockstep.data.given_file import ZIP, given_path, npz_arrays, read_bytes, refuse
from lockstep.data.table_file import ReadTable, counted, read_table_file
from lockstep.errors import InputError

FILL = "Fill it in; a run of --data.missing mean does so itself."


def new_rows(part: Any, encoding: Encoding, given: Any) -> NewExamples:
    """Features (N, k), standardised by the figures of the training part.

    `given` is the Path of a table, an array (N, k) with the columns in the order of the run's, or
    columns by name (a dictionary, a data frame).
    """
    if isinstance(given, Path):
        x = _from_file(part, encoding, given)
    else:
        x = _from_arrays(encoding, given)
    return NewExamples((x - np.array(encoding.means)) / np.array(encoding.stds))


def _from_file(part: Any, encoding: Encoding, path: Path) -> NDArray[np.float64]:
    """Columns are found by name; others, a target among them, are left alone. A file without a
    header that has the features and nothing else has them in their order; the columns of a run
    without a header are numbers, and are taken by them from a file that names its columns."""
    how = (getattr(part, name, "auto") for name in ("header", "separator"))
    table, _ = read_table_file(str(path), *how)
    width = len(table.names)
    if table.names == counted(width) and width == len(encoding.columns):
        columns = list(range(width))
    elif _are_counted(part, encoding) and not set(encoding.columns) & set(table.names):
        columns = [int(name) - 1 for name in encoding.columns]
        if beyond := [name for name in encoding.columns if int(name) > width]:
            raise _lacking(table, beyond[0])
    else:
        columns = [_column(table, name) for name in encoding.columns]
    remedy = "Correct it: the model takes a number there."
    x = np.stack([table.numbers(column, remedy) for column in columns], axis=1)
    if encoding.fills:
        x = np.where(np.isnan(x), np.array(encoding.fills), x)
    table.refuse_missing(x, columns, FILL)
    return x


def _are_counted(part: Any, encoding: Encoding) -> bool:
    """Whether the names of columns are their numbers, as of a file without a header."""
    with_target = (encoding.target,) if hasattr(part, "target") else ()
    names = (*encoding.columns, *with_target)
    are_numbers = all(re.fullmatch("[1-9][0-9]*", name) for name in names)
    return are_numbers and getattr(part, "header", "auto") != "yes"


def _column(table: ReadTable, name: str) -> int:
    if name not in table.names:
        raise _lacking(table, name)
    return table.names.index(name)


def _lacking(table: ReadTable, name: str) -> InputError:
    problem = f"has no column {name!r}, which the model takes"
    if table.names == counted(len(table.names)):
        remedy = "Name the columns in its first line, or give the features alone, in their order."
        return refuse(table.path, problem, remedy)
    near = difflib.get_close_matches(name, table.names, n=1, cutoff=0.4)
    hint = f"Is it {near[0]!r}? " if near else ""
    there = ", ".join(table.names[:30])
    return refuse(table.path, problem, f"{hint}It has: {there}.")


def _from_arrays(encoding: Encoding, given: Any) -> NDArray[np.float64]:
    names = encoding.columns
    if hasattr(given, "keys"):
        lacking = [name for name in names if name not in given]
        if lacking:
            there = ", ".join(map(str, given.keys()))
            raise InputError("x", there, f"has no column {lacking[0]!r}", "Give it by its name.")
        x = _floats(np.stack([np.asarray(given[name]) for name in names], axis=-1))
    else:
        x = _floats(np.asarray(given))
    if x.ndim != 2 or x.shape[1] != len(names):
        remedy = f"Give an array (N, {len(names)}): {', '.join(names[:30])}."
        raise InputError("x", x.shape, "has not the features of the model", remedy)
    if encoding.fills:
        x = np.where(np.isnan(x), np.array(encoding.fills), x)
    _refuse_odd(x, names)
    return x


def _floats(x: NDArray[Any]) -> NDArray[np.float64]:
    if x.dtype.kind not in "fiub":
        raise InputError("x", x.dtype.name, "holds no numbers", "Give numbers.")
    return x.astype(np.float64)


def _refuse_odd(x: NDArray[np.float64], names: Sequence[str]) -> None:
    odd = ~np.isfinite(x)
    if odd.any():
        row, at = (int(i) for i in np.argwhere(odd)[0])
        problem = f"row {row}, column {names[at]!r} is no finite number"
        raise InputError("x", float(x[row, at]), problem, FILL)


def plain_examples(path: Path) -> NDArray[Any]:
    """The array x (N, ...) of an npz, or every column of another table as a number (N, k), as they
    stand: for a model of a person's own arrays, which has no names of columns."""
    content = read_bytes(given_path(str(path), "an npz with x, or a table"))
    if content.startswith(ZIP):
        arrays = npz_arrays(path, content)
        if "x" not in arrays:
            raise refuse(path, f"has no array 'x', but {', '.join(arrays) or 'nothing'}", "Add it.")
        return arrays["x"]
    table, _ = read_table_file(str(path), "auto", "auto")
    columns = range(len(table.names))
    x = np.stack(
        [table.numbers(column, "Correct it, or leave the column out.") for column in columns],
        axis=1,
    )
    table.refuse_missing(x, columns, "Fill it in.")
    return x
