"""Ops over PyTorch tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from lockstep.frameworks.torch.fused import PARTS
from lockstep.ops import Array, Weights
from lockstep.trees import detached

Tensor = torch.Tensor


class TorchOps:
    """PyTorch, eager, on the CPU."""

    def __init__(self, precision: str, fused: bool = True) -> None:
        self.precision = precision
        self.dtype = getattr(torch, precision)
        self.fused: Mapping[str, Callable[..., Any]] = PARTS if fused else {}

    # --- in and out
    def asarray(self, value: Any) -> Tensor:
        array = np.ascontiguousarray(value).reshape(np.shape(value))
        if array.dtype.kind == "f":
            return torch.tensor(array, dtype=self.dtype)
        keep = array.dtype in (np.uint8, np.bool_)  # index tensors must be int64
        return torch.tensor(array if keep else array.astype(np.int64))

    def to_numpy(self, x: Tensor) -> np.ndarray:
        return x.detach().cpu().numpy()

    def floating(self, x: Tensor) -> Tensor:
        return x.to(self.dtype)

    def whole(self, x: Tensor) -> Tensor:
        return x.to(torch.int64)

    def zeros(self, shape: Sequence[int]) -> Tensor:
        return torch.zeros(tuple(shape), dtype=self.dtype)

    # --- elementwise
    def exp(self, x: Tensor) -> Tensor:
        return torch.exp(x)

    def log(self, x: Tensor) -> Tensor:
        return torch.log(x)

    def sqrt(self, x: Tensor) -> Tensor:
        return torch.sqrt(x)

    def abs(self, x: Tensor) -> Tensor:
        return torch.abs(x)

    def tanh(self, x: Tensor) -> Tensor:
        return torch.tanh(x)

    def sigmoid(self, x: Tensor) -> Tensor:
        return torch.sigmoid(x)

    def relu(self, x: Tensor) -> Tensor:
        return F.relu(x)

    def maximum(self, a: Tensor, b: Any) -> Tensor:
        return torch.maximum(a, b) if isinstance(b, Tensor) else a.clamp(min=b)

    def minimum(self, a: Tensor, b: Any) -> Tensor:
        return torch.minimum(a, b) if isinstance(b, Tensor) else a.clamp(max=b)

    def where(self, condition: Tensor, a: Any, b: Any) -> Tensor:
        return torch.where(condition, self._tensor(a), self._tensor(b))

    def _tensor(self, value: Any) -> Tensor:
        return value if isinstance(value, Tensor) else torch.tensor(value, dtype=self.dtype)

    def floor_divide(self, a: Tensor, b: Tensor) -> Tensor:
        return a // b

    # --- reductions
    def sum(self, x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
        return torch.sum(x) if axis is None and not keepdims else x.sum(axis, keepdim=keepdims)

    def mean(self, x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
        return torch.mean(x) if axis is None and not keepdims else x.mean(axis, keepdim=keepdims)

    def max(self, x: Tensor, axis: Any, keepdims: bool = False) -> Tensor:
        return torch.max(x, dim=axis, keepdim=keepdims).values

    def argmax(self, x: Tensor, axis: Any = -1) -> Tensor:
        return torch.argmax(x, dim=axis)

    # --- shape
    def reshape(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        return x.reshape(tuple(shape))

    def transpose(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        return x.permute(tuple(axes))

    def flip(self, x: Tensor, axis: int) -> Tensor:
        return x.flip(axis)

    def concat(self, xs: Sequence[Tensor], axis: int = 0) -> Tensor:
        return torch.cat(list(xs), dim=axis)

    def stack(self, xs: Sequence[Tensor], axis: int = 0) -> Tensor:
        return torch.stack(list(xs), dim=axis)

    # --- selection
    def take(self, x: Tensor, indices: Tensor) -> Tensor:
        return torch.index_select(x, 0, indices) if indices.ndim == 1 else x[indices]

    def pick(self, x: Tensor, indices: Tensor) -> Tensor:
        return torch.gather(x, -1, indices.to(torch.int64).unsqueeze(-1)).squeeze(-1)

    def one_hot(self, indices: Tensor, depth: int) -> Tensor:
        hot = torch.zeros((*indices.shape, depth), dtype=self.dtype)
        return hot.scatter_(-1, indices.to(torch.int64).unsqueeze(-1), 1.0)

    # --- layers
    def matmul(self, a: Tensor, b: Tensor) -> Tensor:
        return a @ b

    def log_softmax(self, x: Tensor) -> Tensor:
        return F.log_softmax(x, dim=-1)

    def conv2d(self, x: Tensor, w: Tensor, b: Tensor, padding: int = 0) -> Tensor:
        return F.conv2d(x, w, b, padding=padding)

    def max_pool2d(self, x: Tensor, size: int) -> Tensor:
        return F.max_pool2d(x, size)

    def avg_pool2d(self, x: Tensor, size: int) -> Tensor:
        return F.avg_pool2d(x, size)

    # --- control
    def scan(
        self, step: Callable[[Any, Array], tuple[Any, Array]], carry: Any, xs: Tensor
    ) -> tuple[Any, Tensor]:
        ys = []
        for x in xs.unbind(0):
            carry, y = step(carry, x)
            ys.append(y)
        return carry, torch.stack(ys)

    def stop_gradient(self, x: Tensor) -> Tensor:
        return x.detach()

    def value_and_grad(
        self, function: Callable[..., tuple[Tensor, Any]]
    ) -> Callable[..., tuple[tuple[Tensor, Any], Weights]]:
        def with_gradient(weights: Weights, *args: Any) -> tuple[tuple[Tensor, Any], Weights]:
            leaves = {n: w.detach().requires_grad_() for n, w in weights.items()}
            value, aux = function(leaves, *args)
            grads: Sequence[Tensor | None] = [None] * len(leaves)
            if value.requires_grad:  # else it depends on none of them
                grads = torch.autograd.grad(value, list(leaves.values()), allow_unused=True)
            named = {
                n: torch.zeros_like(w) if g is None else g
                for (n, w), g in zip(leaves.items(), grads, strict=True)
            }
            return (value.detach(), detached(Tensor, aux)), named

        return with_gradient
