"""Tables that leave Lockstep: named columns as plain values, as a CSV or Parquet file, as pandas'
DataFrame.

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
    """Write them as `csv_text` gives them."""
    return write_whole(Path(path), csv_text(columns).encode())


def csv_text(columns: Columns) -> str:
    r"""A head and a line for each row; what is None is left empty.

    >>> csv_text({"step": np.arange(2), "lr": [0.5, None]})
    'step,lr\n0,0.5\n1,\n'
    """
    lists, text = to_lists(columns), io.StringIO()
    writer = csv.writer(text, lineterminator="\n")  # it writes a float by its repr
    writer.writerow(lists)
    writer.writerows(zip(*lists.values(), strict=True))
    return text.getvalue()


def to_parquet(columns: Columns, path: str | Path, about: Mapping[str, str]) -> Path:
    """Write a Parquet file; what is None is null. `about` is kept as the file's own metadata."""
    pyarrow, parquet = import_pyarrow()
    table = pyarrow.table({name: pyarrow.array(values) for name, values in columns.items()})
    content = pyarrow.BufferOutputStream()
    parquet.write_table(table.replace_schema_metadata(dict(about)), content)
    return write_whole(Path(path), content.getvalue().to_pybytes())


def import_pyarrow() -> tuple[Any, Any]:
    """pyarrow, and its part for Parquet."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingError(
            "pyarrow, which writes Parquet, is not installed",
            "Install it with: pip install 'lockstep-train[parquet]'",
        ) from None
    return pyarrow, parquet


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
