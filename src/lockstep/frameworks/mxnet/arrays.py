"""Operators of mx.np arrays where MXNet's differ from NumPy's, replaced for the whole process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mxnet as mx
import numpy as np
from mxnet import npx

from lockstep.ops import Array

COMPARISONS = {
    "__eq__": mx.np.equal,
    "__ne__": mx.np.not_equal,
    "__lt__": mx.np.less,
    "__le__": mx.np.less_equal,
    "__gt__": mx.np.greater,
    "__ge__": mx.np.greater_equal,
}


def use_numpy_operators() -> None:
    """NumPy's meaning of `**` and of comparisons, and a faster `@`, for every mx.np array."""
    mx.np.ndarray.__pow__ = power
    mx.np.ndarray.__matmul__ = product
    for name, compare in COMPARISONS.items():
        setattr(mx.np.ndarray, name, of_one_type(compare))


def power(base: Array, exponent: Any) -> Array:
    """MXNet's gradient of x ** 0 is 0 * x ** -1: not a number at 0."""
    if isinstance(exponent, int | float) and exponent == 0:
        return mx.np.ones_like(base)
    return mx.np.power(base, exponent)


def product(a: Array, b: Array) -> Array:
    """With a matrix on the right dot is the same as matmul; its gradient takes half the time."""
    return mx.np.dot(a, b) if b.ndim == 2 else mx.np.matmul(a, b)


def of_one_type(compare: Callable[..., Array]) -> Callable[[Array, Any], Array]:
    """MXNet refuses to compare arrays of two types, such as labels in uint8 and int32."""

    def compared(a: Array, b: Any) -> Array:
        if isinstance(b, mx.np.ndarray) and a.dtype != b.dtype:
            common = np.result_type(a.dtype, b.dtype).name
            a, b = npx.cast(a, dtype=common), npx.cast(b, dtype=common)
        return compare(a, b)

    return compared
