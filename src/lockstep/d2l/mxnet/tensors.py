"""The chapters' names for operations on arrays."""

from __future__ import annotations

from typing import Any

from mxnet import np, npx

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

ones, ones_like, zeros, zeros_like = np.ones, np.ones_like, np.zeros, np.zeros_like
tensor, arange, linspace, eye, meshgrid = np.array, np.arange, np.linspace, np.eye, np.meshgrid
sin, sinh, cos, cosh, tanh = np.sin, np.sinh, np.cos, np.cosh, np.tanh
exp, log, abs = np.exp, np.log, np.abs
normal, rand, randn = np.random.normal, np.random.rand, np.random.randn
matmul, concat, stack, expand_dims = np.dot, np.concatenate, np.stack, np.expand_dims
sigmoid, batch_matmul = npx.sigmoid, npx.batch_dot
int32, float32 = np.int32, np.float32


def to(x: Any, device: Any) -> Any:
    return x.as_in_context(device)


__all__ = [
    "abs", "arange", "argmax", "astype", "batch_matmul", "concat", "cos", "cosh", "exp",
    "expand_dims", "eye", "float32", "int32", "linspace", "log", "matmul", "meshgrid", "normal",
    "numpy", "ones", "ones_like", "rand", "randn", "reduce_mean", "reduce_sum", "reshape",
    "sigmoid", "sin", "sinh", "size", "stack", "tanh", "tensor", "to", "transpose", "zeros",
    "zeros_like",
]  # fmt: skip
