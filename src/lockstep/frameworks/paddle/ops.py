"""Ops over Paddle tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import paddle
from paddle import Tensor

from lockstep.frameworks.paddle.fused import PARTS, convolved
from lockstep.ops import Array, Weights
from lockstep.trees import detached

F = paddle.nn.functional


class PaddleOps:
    """Paddle, on the CPU."""

    def __init__(self, precision: str, fused: bool = True) -> None:
        self.precision = precision
        self.dtype = getattr(paddle, precision)
        self.fused: Mapping[str, Callable[..., Any]] = PARTS if fused else {}

    # --- in and out
    def asarray(self, value: Any) -> Tensor:
        array = np.asarray(value)
        if array.dtype.kind == "f":
            return paddle.to_tensor(array, dtype=self.dtype)
        keep = array.dtype in (np.uint8, np.bool_)  # no operator mixes whole numbers of two kinds
        return paddle.to_tensor(array if keep else array.astype(np.int64))

    def to_numpy(self, x: Tensor) -> np.ndarray:
        return x.detach().numpy()

    def floating(self, x: Tensor) -> Tensor:
        return x.astype(self.dtype)

    def whole(self, x: Tensor) -> Tensor:
        return x.astype(paddle.int64)

    def zeros(self, shape: Sequence[int]) -> Tensor:
        return paddle.zeros(list(shape), dtype=self.dtype)

    # --- elementwise
    def exp(self, x: Tensor) -> Tensor:
        return paddle.exp(x)

    def log(self, x: Tensor) -> Tensor:
        return paddle.log(x)

    def sqrt(self, x: Tensor) -> Tensor:
        return paddle.sqrt(x)

    def abs(self, x: Tensor) -> Tensor:
        return paddle.abs(x)

    def tanh(self, x: Tensor) -> Tensor:
        return paddle.tanh(x)

    def sigmoid(self, x: Tensor) -> Tensor:
        return F.sigmoid(x)

    def relu(self, x: Tensor) -> Tensor:
        # F.relu makes 0 of NaN, and a run that diverged would continue
        return F.hardtanh(x, 0.0, math.inf)

    def maximum(self, a: Tensor, b: Any) -> Tensor:
        return paddle.maximum(a, b) if isinstance(b, Tensor) else paddle.clip(a, b, math.inf)

    def minimum(self, a: Tensor, b: Any) -> Tensor:
        return paddle.minimum(a, b) if isinstance(b, Tensor) else paddle.clip(a, -math.inf, b)

    def where(self, condition: Tensor, a: Any, b: Any) -> Tensor:
        return paddle.where(condition, self._tensor(a), self._tensor(b))

    def _tensor(self, value: Any) -> Tensor:
        return value if isinstance(value, Tensor) else paddle.full([], value, self.dtype)

    def floor_divide(self, a: Tensor, b: Tensor) -> Tensor:
        return paddle.floor_divide(a, b)

    # --- reductions
    def sum(self, x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
        return paddle.sum(x, axis, keepdim=keepdims)

    def mean(self, x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
        return paddle.mean(x, axis, keepdim=keepdims)

    def max(self, x: Tensor, axis: Any, keepdims: bool = False) -> Tensor:
        # paddle.max gives every tied entry the gradient
        first = paddle.argmax(x, axis, keepdim=True)
        largest = paddle.take_along_axis(x, first, axis)
        return largest if keepdims else largest.squeeze(axis)

    def argmax(self, x: Tensor, axis: Any = -1) -> Tensor:
        return paddle.argmax(x, axis)

    # --- shape
    def reshape(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        return paddle.reshape(x, list(shape))

    def transpose(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        return paddle.transpose(x, list(axes))

    def flip(self, x: Tensor, axis: int) -> Tensor:
        if x.dtype in (paddle.uint8, paddle.bool):  # no kernel
            return paddle.flip(x.astype(paddle.int64), axis).astype(x.dtype)
        return paddle.flip(x, axis)

    def concat(self, xs: Sequence[Tensor], axis: int = 0) -> Tensor:
        return paddle.concat(list(xs), axis)

    def stack(self, xs: Sequence[Tensor], axis: int = 0) -> Tensor:
        return paddle.stack(list(xs), axis)

    # --- selection
    def take(self, x: Tensor, indices: Tensor) -> Tensor:
        return paddle.gather(x, indices) if indices.ndim == 1 else x[indices]

    def pick(self, x: Tensor, indices: Tensor) -> Tensor:
        chosen = indices.astype(paddle.int64).unsqueeze(-1)  # no kernel takes uint8
        return paddle.take_along_axis(x, chosen, -1).squeeze(-1)

    def one_hot(self, indices: Tensor, depth: int) -> Tensor:
        return F.one_hot(indices.astype(paddle.int64), depth).astype(self.dtype)

    # --- layers
    def matmul(self, a: Tensor, b: Tensor) -> Tensor:
        return a @ b

    def log_softmax(self, x: Tensor) -> Tensor:
        return x - paddle.logsumexp(x, -1, keepdim=True)  # F.log_softmax ends at -64

    def conv2d(self, x: Tensor, w: Tensor, b: Tensor, padding: int = 0) -> Tensor:
        return convolved(x, w, b, padding)

    def max_pool2d(self, x: Tensor, size: int) -> Tensor:
        return F.max_pool2d(x, size)

    def avg_pool2d(self, x: Tensor, size: int) -> Tensor:
        if size & (size - 1) == 0:
            return F.avg_pool2d(x, size)
        # its gradient divides by size^2 in float32, which is exact only for powers of 2
        rows, columns = x.shape[2] // size, x.shape[3] // size
        whole = x[:, :, : rows * size, : columns * size]
        return whole.reshape([*x.shape[:2], rows, size, columns, size]).mean([3, 5])

    # --- control
    def scan(
        self, step: Callable[[Any, Array], tuple[Any, Array]], carry: Any, xs: Tensor
    ) -> tuple[Any, Tensor]:
        ys = []
        for x in xs.unbind(0):
            carry, y = step(carry, x)
            ys.append(y)
        return carry, paddle.stack(ys)

    def stop_gradient(self, x: Tensor) -> Tensor:
        return x.detach()

    def value_and_grad(
        self, function: Callable[..., tuple[Tensor, Any]]
    ) -> Callable[..., tuple[tuple[Tensor, Any], Weights]]:
        def with_gradient(weights: Weights, *args: Any) -> tuple[tuple[Tensor, Any], Weights]:
            leaves = {n: _leaf(w) for n, w in weights.items()}
            value, aux = function(leaves, *args)
            grads: Sequence[Tensor | None] = [None] * len(leaves)
            if not value.stop_gradient:  # else it depends on none of them
                grads = paddle.grad(value, list(leaves.values()), allow_unused=True)
            named = {
                n: paddle.zeros_like(w) if g is None else g
                for (n, w), g in zip(weights.items(), grads, strict=True)
            }
            return (value.detach(), detached(Tensor, aux)), named

        return with_gradient


def _leaf(weight: Tensor) -> Tensor:
    leaf = weight.detach()
    leaf.stop_gradient = False
    return leaf
