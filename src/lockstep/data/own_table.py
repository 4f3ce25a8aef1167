"""A person's own table as examples: features and a target, standardised by the training part."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lockstep.data.data_set import DataSet, Loaded
from lockstep.data.encoding import Encoding
from lockstep.data.given_file import origin_of, refuse
from lockstep.data.held_back import first, kept_rows
from lockstep.data.new_rows import new_rows
from lockstep.data.source import Progress
from lockstep.data.table_file import (
    DECIMAL_COMMA,
    NO_VALUE,
    WITH_POINT,
    ReadTable,
    is_number,
    read_table_file,
)
from lockstep.errors import InputError
from lockstep.spec import Table


def _load(part: Table, seed: int, progress: Progress | None) -> Loaded:
    table, digest = read_table_file(part.file, part.header, part.separator)
    target, features = _columns(part, table)
    y: NDArray[np.float64]  # labels or values
    classes: tuple[str, ...] = ()
    if classifies := _classifies(part, table, target):
        classes, y = labels(table, target)
    else:
        y = table.numbers(target, "Correct it; for classes use table-softmax or table-mlp.")
    x = np.stack([table.numbers(column) for column in features], axis=1)  # (N, k)
    rows = _complete(part, table, x, np.isnan(y), features, target)
    x, y = x[rows], y[rows]
    train = kept_rows("data.held_out", part.held_out, len(x))
    used = np.flatnonzero(train)[: first("data.max_examples", part.max_examples, int(train.sum()))]
    trained = kept_rows("data.validation", part.validation, len(used))
    settling = train.copy()  # the rows whose figures standardise the others
    settling[used[~trained]] = False
    fills = _means(x[settling]) if part.missing == "mean" else np.zeros(x.shape[1])
    x = np.where(np.isnan(x), fills, x)
    means, stds = _figures(table, features, x[settling], part.standardize != "none")
    scaled = part.standardize == "all" and not classifies
    target_mean, target_std = _figures(table, [target], y[settling, None], scaled)
    encoding = Encoding(
        (len(features),),
        len(classes) or 1,
        "cross_entropy" if classifies else "squared",
        columns=tuple(table.names[column] for column in features),
        means=tuple(means.tolist()),
        stds=tuple(stds.tolist()),
        fills=tuple(fills.tolist()) if part.missing == "mean" else (),
        target=table.names[target],
        target_mean=float(target_mean[0]),
        target_std=float(target_std[0]),
        classes=classes,
    )
    x = (x - means) / stds
    wanted = y.astype(np.int32) if classifies else (y[:, None] - target_mean) / target_std
    parts = {"train": used[trained], "validation": used[~trained], "test": np.flatnonzero(~train)}
    splits = {name: {"x": x[own], "y": wanted[own]} for name, own in parts.items() if len(own)}
    return Loaded(splits, origin_of(table.path, digest), encoding=encoding)


def _classifies(part: Table, table: ReadTable, target: int) -> bool:
    return part.target_is == "class" or (part.target_is == "auto" and table.has_words(target))


def _columns(part: Table, table: ReadTable) -> tuple[int, list[int]]:
    """The column of the target, and those of the features."""
    target = table.find("data.target", part.target or "-1")
    left_out = {table.find("data.without", name) for name in part.without} | {target}
    named = [table.find("data.columns", name) for name in part.columns]
    twice = next((c for i, c in enumerate(named) if c in named[:i]), None)
    if twice is not None:
        raise InputError("data.columns", table.names[twice], "is named twice", "Name it once.")
    if target in named:
        name = table.names[target]
        raise InputError("data.columns", name, "is the target", "Leave it out of the features.")
    features = [c for c in named or range(len(table.names)) if c not in left_out]
    if not features:
        problem = f"leaves no features beside {table.names[target]!r}"
        remedy = "Give a table with more columns, apart by comma, semicolon, tab or space."
        if len(table.names) > 1:
            remedy = "Name others with --data.columns, or fewer with --data.without."
        raise refuse(table.path, problem, remedy)
    return target, features


def labels(table: ReadTable, column: int) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """The classes of a column by name, and the label of each row; NaN where it has none.

    Words are in alphabetical order, whole numbers by size.
    """
    if table.has_words(column):
        names = [str(cell).strip() for cell in table.columns[column]]
        names = ["" if name.lower() in NO_VALUE else name for name in names]
        if all(DECIMAL_COMMA.fullmatch(name) for name in names if name and not is_number(name)):
            row = next(i for i, name in enumerate(names) if DECIMAL_COMMA.fullmatch(name))
            raise table.wrong(row, column, "is no number", WITH_POINT)
        order = sorted(set(names) - {""})
    else:
        values = table.numbers(column)
        odd = ~np.isnan(values) & (values != np.floor(values))
        if odd.any():
            row = int(odd.argmax())
            remedy = "Give whole numbers or words, or use table-linear for a number."
            raise table.wrong(row, column, "is no label: it is not whole", remedy)
        names = ["" if np.isnan(value) else str(int(value)) for value in values]
        order = sorted(set(names) - {""}, key=int)
    if len(order) < 2:
        problem = f"column {table.names[column]!r} has one class only ({', '.join(order)})"
        raise refuse(table.path, problem, "Give rows of at least two classes.")
    number = {"": np.nan} | {name: float(i) for i, name in enumerate(order)}
    return tuple(order), np.array([number[name] for name in names])


def _complete(
    part: Table,
    table: ReadTable,
    x: NDArray[np.float64],
    absent: NDArray[np.bool_],
    features: list[int],
    target: int,
) -> NDArray[np.bool_]:
    """The rows that can be used; a value that is missing is refused unless the part says more."""
    if absent.all():
        name = table.names[target]
        raise refuse(table.path, f"column {name!r} is empty", "Learn another: --data.target NAME.")
    empty = np.isnan(x).all(axis=0)
    if empty.any():
        name = table.names[features[int(empty.argmax())]]
        remedy = f"Leave it out: --data.without {name}."
        raise refuse(table.path, f"column {name!r} is empty", remedy)
    if part.missing == "refuse":
        remedy = "Say --data.missing drop (leave such rows out) or mean (fill them in)."
        table.refuse_missing(x, features, remedy)
    if part.missing != "drop" and absent.any():
        remedy = "Say --data.missing drop to leave such rows out."
        raise table.wrong(int(absent.argmax()), target, "is missing", remedy)
    rows = np.ones(len(x), bool)
    if part.missing == "drop":
        rows = ~(absent | np.isnan(x).any(axis=1))
    if not rows.any():
        raise refuse(table.path, "has no row without missing values", "Say --data.missing mean.")
    return rows


def _means(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of the values that each column has; 0 of a column without any."""
    there = ~np.isnan(x)
    return np.where(there, x, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)


def _figures(
    table: ReadTable, columns: list[int], values: NDArray[np.float64], wanted: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation (divisor N) of each column; 0 and 1 where none are wanted."""
    if not wanted:
        return np.zeros(values.shape[1]), np.ones(values.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        means, stds = values.mean(axis=0), values.std(axis=0)
    constant = values.min(axis=0) == values.max(axis=0)
    if constant.any():
        at = int(constant.argmax())
        name = table.names[columns[at]]
        problem = f"column {name!r} is constant ({values[0, at]:g}) in the training part"
        remedy = f"Leave it out: --data.without {name}; or say --data.standardize none."
        raise refuse(table.path, problem, remedy)
    # squares of numbers beyond 1e154 are infinite, those of differences below 1e-162 are 0
    unfit = ~np.isfinite(stds) | (stds == 0)
    if unfit.any():
        at = int(unfit.argmax())
        size = "large" if np.abs(values[:, at]).max() > 1 else "small"
        problem = f"column {table.names[columns[at]]!r} has numbers too {size} to standardise"
        raise refuse(table.path, problem, "Give them in another unit.")
    return means, stds


DATA_SET = DataSet(_load, input_shape=None, num_outputs=0, loss="squared", features=new_rows)
