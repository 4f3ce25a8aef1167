"""A framework's arrays as NumPy's, without knowing the framework."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def to_numpy(value: Any) -> NDArray[Any]:
    """Numbers, lists of them, or any framework's array; what follows a gradient is cut off.

    >>> to_numpy([1, 2.5]).tolist()
    [1.0, 2.5]
    """
    if hasattr(value, "detach"):
        value = value.detach()
    if getattr(value, "is_cuda", False):
        value = value.cpu()
    for method in ("asnumpy", "numpy"):  # mxnet and mindspore; the others
        if hasattr(value, method):
            value = getattr(value, method)()
    if isinstance(value, list | tuple):
        return np.asarray([to_numpy(item) for item in value])
    return np.asarray(value)


def curve(values: Any) -> NDArray[np.float64]:
    """The y of a curve, one axis."""
    return to_numpy(values).astype(np.float64).reshape(-1)


def curves(values: Any) -> list[Any]:
    """One curve, or several, as a list of curves.

    >>> [len(item) for item in curves([1, 2, 3])], [len(item) for item in curves([[1, 2], [3]])]
    ([3], [2, 1])
    """
    if hasattr(values, "ndim"):
        return [values] if values.ndim == 1 else list(values)
    items = list(values)
    if items and (hasattr(items[0], "__len__") and getattr(items[0], "ndim", 1) > 0):
        return items
    return [items]
