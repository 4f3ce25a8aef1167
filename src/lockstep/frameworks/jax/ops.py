"""Ops over JAX arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from lockstep.frameworks.jax.fused import PARTS
from lockstep.ops import Array, Weights


class JaxOps:
    """JAX, traceable: everything here may be inside a compiled function."""

    def __init__(self, precision: str, fused: bool = True) -> None:
        self.precision = precision
        self.fused: Mapping[str, Callable[..., Any]] = PARTS if fused else {}
        self.dtype = jnp.dtype(precision)

    # --- in and out
    def asarray(self, value: Any) -> Array:
        array = np.asarray(value)
        if array.dtype.kind == "f":
            return jnp.asarray(array, dtype=self.dtype)
        keep = array.dtype in (np.uint8, np.bool_)
        return jnp.asarray(array if keep else array.astype(np.int32))

    def to_numpy(self, x: Array) -> np.ndarray:
        return np.asarray(x)

    def floating(self, x: Array) -> Array:
        return x.astype(self.dtype)

    def whole(self, x: Array) -> Array:
        return x.astype(jnp.int32)

    def zeros(self, shape: Sequence[int]) -> Array:
        return jnp.zeros(tuple(shape), self.dtype)

    # --- elementwise
    def exp(self, x: Array) -> Array:
        return jnp.exp(x)

    def log(self, x: Array) -> Array:
        return jnp.log(x)

    def sqrt(self, x: Array) -> Array:
        return jnp.sqrt(x)

    def abs(self, x: Array) -> Array:
        return x * lax.stop_gradient(jnp.sign(x))  # jnp.abs has gradient 1 at 0

    def tanh(self, x: Array) -> Array:
        return jnp.tanh(x)

    def sigmoid(self, x: Array) -> Array:
        return jax.nn.sigmoid(x)

    def relu(self, x: Array) -> Array:
        return jax.nn.relu(x)

    def maximum(self, a: Array, b: Any) -> Array:
        return jnp.maximum(a, b)

    def minimum(self, a: Array, b: Any) -> Array:
        return jnp.minimum(a, b)

    def where(self, condition: Array, a: Any, b: Any) -> Array:
        return jnp.where(condition, a, b)

    def floor_divide(self, a: Array, b: Array) -> Array:
        return a // b

    # --- reductions
    def sum(self, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
        return jnp.sum(x, axis=axis, keepdims=keepdims)

    def mean(self, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
        return jnp.mean(x, axis=axis, keepdims=keepdims)

    def max(self, x: Array, axis: Any, keepdims: bool = False) -> Array:
        # jnp.max shares the gradient among ties; the contract gives it to the first
        first = jnp.expand_dims(jnp.argmax(x, axis=axis), axis)
        values = jnp.take_along_axis(x, first, axis=axis)
        return values if keepdims else jnp.squeeze(values, axis)

    def argmax(self, x: Array, axis: Any = -1) -> Array:
        return jnp.argmax(x, axis=axis)

    # --- shape
    def reshape(self, x: Array, shape: Sequence[int]) -> Array:
        return jnp.reshape(x, tuple(shape))

    def transpose(self, x: Array, axes: Sequence[int]) -> Array:
        return jnp.transpose(x, tuple(axes))

    def flip(self, x: Array, axis: int) -> Array:
        return jnp.flip(x, axis)

    def concat(self, xs: Sequence[Array], axis: int = 0) -> Array:
        return jnp.concatenate(list(xs), axis=axis)

    def stack(self, xs: Sequence[Array], axis: int = 0) -> Array:
        return jnp.stack(list(xs), axis=axis)

    # --- selection
    def take(self, x: Array, indices: Array) -> Array:
        return x[indices]

    def pick(self, x: Array, indices: Array) -> Array:
        return jnp.take_along_axis(x, indices[..., None].astype(jnp.int32), axis=-1)[..., 0]

    def one_hot(self, indices: Array, depth: int) -> Array:
        return jax.nn.one_hot(indices, depth, dtype=self.dtype)

    # --- layers
    def matmul(self, a: Array, b: Array) -> Array:
        return a @ b

    def log_softmax(self, x: Array) -> Array:
        return jax.nn.log_softmax(x, axis=-1)

    def conv2d(self, x: Array, w: Array, b: Array, padding: int = 0) -> Array:
        pads = [(padding, padding)] * 2
        y = lax.conv_general_dilated(x, w, (1, 1), pads, dimension_numbers=("NCHW", "OIHW", "NCHW"))
        return y + b[:, None, None]

    def max_pool2d(self, x: Array, size: int) -> Array:
        # where keeps the gradient on the first of equals, and is faster than reduce_window here
        best = None
        for part in self._window_slices(x, size):
            best = part if best is None else jnp.where(part > best, part, best)
        return best

    def avg_pool2d(self, x: Array, size: int) -> Array:
        return sum(self._window_slices(x, size)) / size**2

    def _window_slices(self, x: Array, size: int) -> list[Array]:
        height, width = (n // size * size for n in x.shape[2:])
        return [x[:, :, i:height:size, j:width:size] for i in range(size) for j in range(size)]

    # --- control
    def scan(
        self, step: Callable[[Any, Array], tuple[Any, Array]], carry: Any, xs: Array
    ) -> tuple[Any, Array]:
        return lax.scan(step, carry, xs)

    def stop_gradient(self, x: Array) -> Array:
        return lax.stop_gradient(x)

    def value_and_grad(
        self, function: Callable[..., tuple[Array, Any]]
    ) -> Callable[..., tuple[tuple[Array, Any], Weights]]:
        return jax.value_and_grad(function, has_aux=True)
