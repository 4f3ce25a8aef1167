"""Parts of the data that are not trained on: which rows, drawn by NumPy.

They follow from the data's size and the fraction alone: every seed of a run, in every framework,
holds back the same rows, so that what is measured on them compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lockstep.data.random import generator
from lockstep.errors import InputError, several
from lockstep.ops import Arrays

PURPOSES = {"data.held_out": "held-out rows", "data.validation": "validation rows"}


def num_held(field: str, fraction: float, there: int, unit: str = "rows") -> int:
    """How many of those that are there a part gets; one that leaves nothing is refused.

    >>> num_held("data.validation", 0.1, 1500), num_held("data.validation", 0.0, 3)
    (150, 0)
    """
    count = round(there * fraction)
    if fraction and not 0 < count < there:
        problem = f"of {there} {unit} leaves a part with none"
        raise InputError(field, fraction, problem, f"Give another fraction, or more {unit}.")
    return count


def kept_rows(field: str, fraction: float, num_rows: int) -> NDArray[np.bool_]:
    """Which rows (N,) remain when a fraction drawn at random is held back.

    >>> int(kept_rows("data.held_out", 0.2, 10).sum())
    8
    """
    kept = np.ones(num_rows, bool)
    count = num_held(field, fraction, num_rows)
    kept[generator(0, PURPOSES[field]).permutation(num_rows)[:count]] = False
    return kept


def first(field: str, limit: int, there: int) -> int:
    """How many of the training part are used."""
    if limit > there:
        raise InputError(field, limit, f"the training part has {there:,}", "Give at most that.")
    return limit or there


def with_validation(splits: Mapping[str, Arrays], part: Any) -> Mapping[str, Arrays]:
    """The splits with that fraction of the part "train" as "validation": rows drawn at random, of
    a text its last symbols. Where the data, or its own reading, has such a part, it stays."""
    fraction = getattr(part, "validation", 0.0)
    if not fraction or "validation" in splits:
        return splits
    train = splits["train"]
    if "tokens" in train:
        tokens = train["tokens"]
        count = num_held("data.validation", fraction, len(tokens), "symbols")
        require_window("data.validation", fraction, count, part.window)
        kept, held = {"tokens": tokens[:-count]}, {"tokens": tokens[-count:]}
    else:
        rows = kept_rows("data.validation", fraction, len(next(iter(train.values()))))
        kept = {name: values[rows] for name, values in train.items()}
        held = {name: values[~rows] for name, values in train.items()}
    others = {name: arrays for name, arrays in splits.items() if name != "train"}
    return {"train": kept, "validation": held, **others}


def require_window(field: str, fraction: float, count: int, window: int) -> None:
    """Refuse a part of a text that is too short for one window and its label."""
    if count <= window:
        problem = f"leaves {several(count, 'symbol')}, fewer than a window of {window} and a label"
        remedy = "Give a larger fraction, a smaller data.window, or a longer text."
        raise InputError(field, fraction, problem, remedy)
