"""What models, losses and optimizers are written over: Ops, its arrays, and a run's Snapshot.

The contract of Ops stands here once; every framework keeps it. Nothing here imports a framework or
another room.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

Array = Any  # a framework's own array; it has + - * / ** @, unary -, comparisons and basic slicing
Arrays = dict[str, np.ndarray]
Weights = dict[str, Array]


class Ops(Protocol):
    """What models, losses and optimizers are written over, in one precision.

    Shapes are canonical: images (B, C, H, W), convolution kernels (out, in, height, width), linear
    weights (in, out), sequences (T, B, ...). Operators on arrays (`+ - * / ** @`, comparisons,
    basic slicing with integers, slices, `None` and `...`) are part of the contract and broadcast as
    NumPy's do; numbers mix freely with arrays. Every floating result has the precision of the Ops.
    Gradients follow the arguments named x, w, b, a, xs; index arguments have none.
    """

    precision: str  # "float32" or "float64"
    fused: Mapping[str, Callable[..., Any]]  # faster equals of model parts, by the part's name

    # --- in and out
    def asarray(self, value: Any) -> Array:
        """From NumPy: floats in this precision, whole numbers as they are (uint8 stays uint8)."""

    def to_numpy(self, x: Array) -> np.ndarray:
        """To NumPy, detached from any gradient. A host sync."""

    def floating(self, x: Array) -> Array:
        """Whole numbers or booleans to this precision."""

    def zeros(self, shape: Sequence[int]) -> Array: ...

    # --- elementwise
    def exp(self, x: Array) -> Array: ...
    def log(self, x: Array) -> Array: ...
    def sqrt(self, x: Array) -> Array: ...
    def abs(self, x: Array) -> Array:
        """|x|; the gradient at 0 is 0."""

    def tanh(self, x: Array) -> Array: ...
    def sigmoid(self, x: Array) -> Array:
        """1 / (1 + exp(-x)), without overflow."""

    def relu(self, x: Array) -> Array:
        """max(x, 0); the gradient at 0 is 0."""

    def maximum(self, a: Array, b: Any) -> Array:
        """Elementwise; b may be a number."""

    def minimum(self, a: Array, b: Any) -> Array: ...
    def where(self, condition: Array, a: Any, b: Any) -> Array: ...

    # --- reductions
    def sum(
        self, x: Array, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
    ) -> Array: ...
    def mean(
        self, x: Array, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
    ) -> Array: ...
    def max(self, x: Array, axis: int, keepdims: bool = False) -> Array:
        """Along one axis; at ties the gradient goes to the first."""

    def argmax(self, x: Array, axis: int = -1) -> Array:
        """Index of the first largest; no gradient."""

    # --- shape
    def reshape(self, x: Array, shape: Sequence[int]) -> Array: ...
    def transpose(self, x: Array, axes: Sequence[int]) -> Array: ...
    def concat(self, xs: Sequence[Array], axis: int = 0) -> Array: ...
    def stack(self, xs: Sequence[Array], axis: int = 0) -> Array: ...

    # --- selection
    def take(self, x: Array, indices: Array) -> Array:
        """Rows of x: result shape is indices.shape + x.shape[1:]."""

    def pick(self, x: Array, indices: Array) -> Array:
        """One entry of the last axis for each index: x (..., C), indices (...) -> (...)."""

    def one_hot(self, indices: Array, depth: int) -> Array:
        """indices (...) -> (..., depth), floating."""

    # --- layers
    def matmul(self, a: Array, b: Array) -> Array:
        """The same as `a @ b`, for 2-D b."""

    def log_softmax(self, x: Array) -> Array:
        """x - log sum exp x along the last axis, without overflow."""

    def conv2d(self, x: Array, w: Array, b: Array, padding: int = 0) -> Array:
        """Cross-correlation, stride 1: x (B,C,H,W), w (O,C,h,w), b (O,)."""

    def max_pool2d(self, x: Array, size: int) -> Array:
        """Windows of size x size, stride size, remainder dropped; ties go to the first."""

    def avg_pool2d(self, x: Array, size: int) -> Array: ...

    # --- control
    def scan(
        self, step: Callable[[Any, Array], tuple[Any, Array]], carry: Any, xs: Array
    ) -> tuple[Any, Array]:
        """For each xs[t] in turn: carry, y = step(carry, xs[t]); returns carry and stacked ys.

        carry is an array or a dict of arrays."""

    def stop_gradient(self, x: Array) -> Array: ...
    def value_and_grad(
        self, function: Callable[..., tuple[Array, Any]]
    ) -> Callable[..., tuple[tuple[Array, Any], Weights]]:
        """From f(weights, *args) -> (scalar, aux) to g(weights, *args) -> ((scalar, aux), grads).

        grads has the names of weights (zeros for one that was not used). The scalar, aux (an array,
        or dicts and tuples of them) and grads come back detached."""


@dataclass(frozen=True)
class Snapshot:
    """All that a run needs to go on, in canonical NumPy: weights, optimizer slots, carried state.

    `slots` are keyed "slot/weight" ("velocity/w_h"); `carry` is {} for models without state.
    """

    weights: Arrays
    slots: Arrays = field(default_factory=dict)
    carry: Arrays = field(default_factory=dict)
