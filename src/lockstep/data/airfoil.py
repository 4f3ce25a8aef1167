"""The airfoil self-noise measurements: 1,503 rows, 5 features, 1 target, whitened.

The rows are embedded in the package as `airfoil.dat`, byte for byte the chapters' file. They are
by T. Brooks, D. Pope and M. Marcolini (Airfoil Self-Noise and Prediction, NASA Reference
Publication 1218, 1989), published in the UCI Machine Learning Repository under CC BY 4.0.
Columns: frequency (Hz), angle of attack (degrees), chord length (m), free-stream velocity (m/s),
suction-side displacement thickness (m); and the target, scaled sound pressure level (dB).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray

from lockstep.data.examples import Examples, origin_of
from lockstep.data.fetch import read
from lockstep.errors import InputError

NUM_ROWS = 1503


def load(max_examples: int = 1500, dtype: DTypeLike = np.float32) -> Examples:
    """The first `max_examples` whitened rows: x (N, 5), y (N, 1).

    Each column becomes (column - mean) / std over all 1,503 rows (population std), computed in
    float64 and cast to `dtype` at the end.

    >>> examples = load()
    >>> examples.x.shape, examples.y.shape, examples.x.dtype.name
    ((1500, 5), (1500, 1), 'float32')
    """
    if not 1 <= max_examples <= NUM_ROWS:
        raise InputError(
            "data.max_examples",
            max_examples,
            f"airfoil has {NUM_ROWS} rows",
            f"Give a number from 1 to {NUM_ROWS}.",
        )
    contents = read("airfoil")
    rows = whiten(parse(contents.files[0]))[:max_examples].astype(dtype)
    return Examples(
        np.ascontiguousarray(rows[:, :5]),
        np.ascontiguousarray(rows[:, 5:]),
        origin_of(contents.found),
    )


def parse(content: bytes) -> NDArray[np.float64]:
    r"""The table as numbers, (rows, 6) in float64.

    >>> parse(b"800\t0\t0.3048\t71.3\t0.00266337\t126.201\r\n").tolist()
    [[800.0, 0.0, 0.3048, 71.3, 0.00266337, 126.201]]
    """
    return np.array(content.decode("ascii").split(), dtype=np.float64).reshape(-1, 6)


def whiten(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """(column - mean) / std for each column, std over the population (divisor N).

    >>> whiten(np.array([[1.0], [3.0]])).tolist()
    [[-1.0], [1.0]]
    """
    return (table - table.mean(axis=0)) / table.std(axis=0)
