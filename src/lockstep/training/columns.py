"""Tables that leave Lockstep: named columns as plain values, as a CSV file, as pandas' DataFrame.

Values leave exactly as they are: a number in a CSV file reads back to the same bits.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lockstep.errors import MissingError
from lockstep.files import write_whole

if TYPE_CHECKING:
    from pandas import DataFrame

Columns = Mapping[str, Sequence[Any] | np.ndarray]  # all of one length; None: there is no value


def to_lists(columns: Columns) -> dict[str, list[Any]]:
    """
    >>> to_lists({"step": np.arange(2), "lr": [0.5, None]})
    {'step': [0, 1], 'lr': [0.5, None]}
    """
    return {
        name: values.tolist() if isinstance(values, np.ndarray) else list(values)
        for name, values in columns.items()
    }


def to_csv(columns: Columns, path: str | Path) -> Path:
    """Write a head and a line for each row; what is None is left empty."""
    lists, text = to_lists(columns), io.StringIO()
    writer = csv.writer(text, lineterminator="\n")  # it writes a float by its repr
    writer.writerow(lists)
    writer.writerows(zip(*lists.values(), strict=True))
    return write_whole(Path(path), text.getvalue().encode())


def to_frame(columns: Columns, index: str) -> DataFrame:
    """The same as a DataFrame; the column `index` names its rows."""
    try:
        import pandas
    except ImportError:
        raise MissingError(
            "pandas, which holds tables, is not installed",
            "Install it with: pip install 'lockstep-train[frames]'",
        ) from None
    return pandas.DataFrame(dict(columns)).set_index(index)
