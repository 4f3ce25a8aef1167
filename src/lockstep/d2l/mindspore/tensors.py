"""The chapters' names for operations on tensors."""

from __future__ import annotations

from typing import Any

import mindspore as ms
import numpy as np
from mindspore import ops

from lockstep.d2l.methods import (
    argmax,
    astype,
    numpy,
    reduce_mean,
    reduce_sum,
    reshape,
    size,
    transpose,
)

arange, linspace, eye, meshgrid = ops.arange, ops.linspace, ops.eye, ops.meshgrid
ones_like, zeros_like, sin, cos, tanh = ops.ones_like, ops.zeros_like, ops.sin, ops.cos, ops.tanh
exp, log, abs, sigmoid, matmul = ops.exp, ops.log, ops.abs, ops.sigmoid, ops.matmul
concat, stack, expand_dims = ops.concat, ops.stack, ops.expand_dims
int32, int64, float32 = ms.int32, ms.int64, ms.float32


def tensor(data: Any, dtype: Any = None) -> Any:
    return ms.Tensor(data, dtype)


def zeros(shape: Any, dtype: Any = ms.float32) -> Any:
    return ops.zeros(shape, dtype)


def ones(shape: Any, dtype: Any = ms.float32) -> Any:
    return ops.ones(shape, dtype)


def randn(*shape: Any) -> Any:
    """Standard normal numbers; the shape may be a tuple too."""
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    return ms.Tensor(np.random.standard_normal(sizes).astype(np.float32))


def normal(mean: float = 0.0, std: float = 1.0, size: Any = ()) -> Any:
    return ms.Tensor(np.random.normal(mean, std, size).astype(np.float32))


__all__ = [
    "abs", "arange", "argmax", "astype", "concat", "cos", "exp", "expand_dims", "eye", "float32",
    "int32", "int64", "linspace", "log", "matmul", "meshgrid", "normal", "numpy", "ones",
    "ones_like", "randn", "reduce_mean", "reduce_sum", "reshape", "sigmoid", "sin", "size",
    "stack", "tanh", "tensor", "transpose", "zeros", "zeros_like",
]  # fmt: skip
