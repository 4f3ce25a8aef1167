"""The four dtypes of the contract: floats of the precision, int32, uint8 and bool."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from lockstep.errors import InputError

FLOAT, INT, UINT8, BOOL = "float", "int32", "uint8", "bool"
LARGEST = 2**31 - 1


@cache
def kind_of(dtype: Any) -> str:
    """The kind of a framework's own dtype, which is known by its name.

    >>> kind_of(np.dtype("float32")), kind_of("torch.int64"), kind_of("<dtype: 'uint8'>")
    ('float', 'int32', 'uint8')
    """
    name = str(dtype).lower()
    return next((kind for kind in (FLOAT, UINT8, BOOL) if kind in name), INT)


def common(kinds: Iterable[str]) -> str:
    """The kind that arithmetic is done in: floats as soon as one is, else whole numbers.

    >>> common(["uint8", "float"]), common(["uint8", "bool"])
    ('float', 'int32')
    """
    return FLOAT if FLOAT in kinds else INT


def checked_numpy(value: Any) -> np.ndarray:
    """An array of NumPy's that can be held in one of the four dtypes, or an error."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        remedy = "Give floats, whole numbers or booleans."
        raise InputError("array", array.dtype.name, "is no dtype of Ops", remedy)
    if array.size == 0:
        raise InputError("array", array.shape, "has no entries", "Give at least one.")
    require_32_bits("array", array)
    return array


def require_32_bits(field: str, array: np.ndarray) -> None:
    """Refuse whole numbers that some frameworks would cut off silently."""
    if array.dtype.kind not in "iu" or array.dtype.itemsize <= 2 or array.size == 0:
        return
    for number in (array.min(), array.max()):
        if not -LARGEST - 1 <= number <= LARGEST:
            problem = "does not fit into 32 bits, which whole numbers are held in"
            raise InputError(field, int(number), problem, "Give floats.")
