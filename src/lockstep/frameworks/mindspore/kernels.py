"""The functions of Ops over plain MindSpore tensors; they may stand in the source of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import mindspore as ms
from mindspore import Tensor, mint
from mindspore import ops as F


@ms.jit_class
class Kernels:
    """On the CPU, in one precision. Numbers are tensors here: see arrays.py."""

    def __init__(self, precision: str) -> None:
        self.precision = precision
        self.dtype = getattr(ms, precision)

    # --- in and out
    def floating(self, x: Tensor) -> Tensor:
        if x.dtype == self.dtype:
            return x
        # or MindSpore adds up gradients of booleans, for which it has no kernel
        return F.stop_gradient(x).astype(self.dtype)

    def whole(self, x: Tensor) -> Tensor:
        return F.stop_gradient(x).astype(ms.int32)

    # --- elementwise
    def exp(self, x: Tensor) -> Tensor:
        return mint.exp(x)

    def log(self, x: Tensor) -> Tensor:
        return mint.log(x)

    def sqrt(self, x: Tensor) -> Tensor:
        return mint.sqrt(x)

    def abs(self, x: Tensor) -> Tensor:
        return mint.abs(x)

    def tanh(self, x: Tensor) -> Tensor:
        return mint.tanh(x)

    def sigmoid(self, x: Tensor) -> Tensor:
        return mint.sigmoid(x)

    def relu(self, x: Tensor) -> Tensor:
        return F.relu(x)

    def maximum(self, a: Tensor, b: Any) -> Tensor:
        return F.maximum(a, b)

    def minimum(self, a: Tensor, b: Any) -> Tensor:
        return F.minimum(a, b)

    def where(self, condition: Tensor, a: Any, b: Any) -> Tensor:
        return F.where(condition, a, b)

    def ones_like(self, x: Tensor) -> Tensor:
        return F.ones_like(x)

    def floor_divide(self, a: Tensor, b: Tensor) -> Tensor:
        return F.floor_div(a, b)

    # --- reductions
    def sum(self, x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
        return mint.sum(x, axis, keepdims)

    def mean(self, x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
        return mint.mean(x, axis, keepdims)

    def max(self, x: Tensor, axis: Any, keepdims: bool = False) -> Tensor:
        return F.max(x, axis, keepdims)[0]

    def argmax(self, x: Tensor, axis: Any = -1) -> Tensor:
        return F.argmax(x, axis)

    # --- shape
    def reshape(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        return F.reshape(x, tuple(shape))

    def transpose(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        return F.transpose(x, tuple(axes))

    def flip(self, x: Tensor, axis: int) -> Tensor:
        return F.flip(x, (axis,))

    def concat(self, xs: Sequence[Tensor], axis: int = 0) -> Tensor:
        return F.concat(tuple(xs), axis)

    def stack(self, xs: Sequence[Tensor], axis: int = 0) -> Tensor:
        return F.stack(tuple(xs), axis)

    def unstack(self, x: Tensor) -> tuple[Tensor, ...]:
        return F.unstack(x)

    # --- selection
    def take(self, x: Tensor, indices: Tensor, axis: int = 0) -> Tensor:
        return F.gather(x, indices, axis)

    def pick(self, x: Tensor, indices: Tensor) -> Tensor:
        return F.gather_elements(x, -1, indices.astype(ms.int32)[..., None])[..., 0]

    def one_hot(self, indices: Tensor, depth: int) -> Tensor:
        return (indices[..., None] == F.arange(depth)).astype(self.dtype)

    # --- layers
    def matmul(self, a: Tensor, b: Tensor) -> Tensor:
        return a @ b

    def log_softmax(self, x: Tensor) -> Tensor:
        # F.log_softmax computes in float32
        shifted = x - F.stop_gradient(self.max(x, -1, True))
        return shifted - mint.log(mint.sum(mint.exp(shifted), -1, True))

    def conv2d(self, x: Tensor, w: Tensor, b: Tensor, padding: int = 0) -> Tensor:
        if self.precision == "float32":
            return F.conv2d(x, w, b, padding=padding, pad_mode="pad")
        # F.conv2d has no float64 kernel: the product over patches (B, C h w, positions)
        height = x.shape[2] + 2 * padding - w.shape[2] + 1
        width = x.shape[3] + 2 * padding - w.shape[3] + 1
        y = w.reshape(w.shape[0], -1) @ F.unfold(x, w.shape[2:], padding=padding)
        return y.reshape(x.shape[0], w.shape[0], height, width) + b[:, None, None]

    def max_pool2d(self, x: Tensor, size: int) -> Tensor:
        if self.precision == "float32":
            return F.MaxPool(size, size)(x)
        # its gradient is computed in float32
        windows = F.transpose(self._windows(x, size), (0, 1, 2, 4, 3, 5))
        return self.max(windows.reshape(*windows.shape[:4], size * size), -1)

    def avg_pool2d(self, x: Tensor, size: int) -> Tensor:
        # F.avg_pool2d computes in float32
        return mint.mean(self._windows(x, size), (3, 5))

    def _windows(self, x: Tensor, size: int) -> Tensor:
        """(B, C, H, W) -> (B, C, rows, size, columns, size)."""
        rows, columns = x.shape[2] // size, x.shape[3] // size
        whole = x[:, :, : rows * size, : columns * size]
        return whole.reshape(x.shape[0], x.shape[1], rows, size, columns, size)

    # --- control
    def stop_gradient(self, x: Tensor) -> Tensor:
        return F.stop_gradient(x)


@cache
def kernels(precision: str) -> Kernels:
    """One for all: MindSpore knows an object by its address, which must not be used again."""
    return Kernels(precision)
