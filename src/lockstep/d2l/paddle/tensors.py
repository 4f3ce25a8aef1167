"""The chapters' names for operations on tensors."""

from __future__ import annotations

from typing import Any

import paddle

from lockstep.d2l.methods import argmax, astype, reduce_mean, reduce_sum, reshape

ones, ones_like, zeros, zeros_like = paddle.ones, paddle.ones_like, paddle.zeros, paddle.zeros_like
tensor, arange, linspace, eye = paddle.to_tensor, paddle.arange, paddle.linspace, paddle.eye
meshgrid, sin, sinh, cos, cosh = paddle.meshgrid, paddle.sin, paddle.sinh, paddle.cos, paddle.cosh
tanh, exp, log, abs = paddle.tanh, paddle.exp, paddle.log, paddle.abs
normal, rand, randn = paddle.normal, paddle.rand, paddle.randn
matmul, batch_matmul, concat, stack = paddle.matmul, paddle.bmm, paddle.concat, paddle.stack
sigmoid, expand_dims = paddle.nn.functional.sigmoid, paddle.unsqueeze
int32, int64, float32 = paddle.int32, paddle.int64, paddle.float32


def numpy(x: Any) -> Any:
    return x.detach().numpy()


def size(x: Any) -> int:
    return int(x.numel())


def to(x: Any, device: Any) -> Any:
    return x.to(device)


def transpose(x: Any) -> Any:
    return x.t()


__all__ = [
    "abs", "arange", "argmax", "astype", "batch_matmul", "concat", "cos", "cosh", "exp",
    "expand_dims", "eye", "float32", "int32", "int64", "linspace", "log", "matmul", "meshgrid",
    "normal", "numpy", "ones", "ones_like", "rand", "randn", "reduce_mean", "reduce_sum",
    "reshape", "sigmoid", "sin", "sinh", "size", "stack", "tanh", "tensor", "to", "transpose",
    "zeros", "zeros_like",
]  # fmt: skip
