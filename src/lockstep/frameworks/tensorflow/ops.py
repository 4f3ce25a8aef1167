"""Ops over TensorFlow tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from lockstep.frameworks.tensorflow.fused import PARTS
from lockstep.ops import Array, Weights


class TensorFlowOps:
    """TensorFlow: everything here may run eagerly or inside a tf.function."""

    def __init__(self, precision: str, fused: bool = True) -> None:
        self.precision = precision
        self.dtype = tf.as_dtype(precision)
        self.fused: Mapping[str, Callable[..., Any]] = PARTS if fused else {}

    # --- in and out
    def asarray(self, value: Any) -> Array:
        array = np.array(value)  # a copy: TensorFlow may read the memory later
        if array.dtype.kind == "f":
            return tf.constant(array, self.dtype)
        keep = array.dtype in (np.uint8, np.bool_)
        return tf.constant(array if keep else array.astype(np.int32))

    def to_numpy(self, x: Array) -> np.ndarray:
        array: np.ndarray = np.asarray(x.numpy())
        return array

    def floating(self, x: Array) -> Array:
        return tf.cast(x, self.dtype)

    def whole(self, x: Array) -> Array:
        return tf.cast(x, tf.int32)

    def zeros(self, shape: Sequence[int]) -> Array:
        return tf.zeros(tuple(shape), self.dtype)

    # --- elementwise
    def exp(self, x: Array) -> Array:
        return tf.exp(x)

    def log(self, x: Array) -> Array:
        return tf.math.log(x)

    def sqrt(self, x: Array) -> Array:
        return tf.sqrt(x)

    def abs(self, x: Array) -> Array:
        return tf.abs(x)

    def tanh(self, x: Array) -> Array:
        return tf.tanh(x)

    def sigmoid(self, x: Array) -> Array:
        return tf.sigmoid(x)

    def relu(self, x: Array) -> Array:
        return tf.nn.relu(x)

    def maximum(self, a: Array, b: Any) -> Array:
        return tf.maximum(a, b)

    def minimum(self, a: Array, b: Any) -> Array:
        return tf.minimum(a, b)

    def where(self, condition: Array, a: Any, b: Any) -> Array:
        return tf.where(condition, self._tensor(a), self._tensor(b))

    def _tensor(self, value: Any) -> Array:
        return value if tf.is_tensor(value) else tf.constant(value, self.dtype)

    def floor_divide(self, a: Array, b: Array) -> Array:
        return a // b

    # --- reductions
    def sum(self, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
        return tf.reduce_sum(x, axis, keepdims)

    def mean(self, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
        return tf.reduce_mean(x, axis, keepdims)

    def max(self, x: Array, axis: Any, keepdims: bool = False) -> Array:
        # reduce_max shares the gradient among ties; the contract gives it to the first
        first = tf.one_hot(tf.argmax(x, axis), x.shape[axis], True, False, axis)
        return tf.reduce_sum(tf.where(first, x, tf.zeros((), x.dtype)), axis, keepdims)

    def argmax(self, x: Array, axis: Any = -1) -> Array:
        return tf.argmax(x, axis, tf.int32)

    # --- shape
    def reshape(self, x: Array, shape: Sequence[int]) -> Array:
        return tf.reshape(x, tuple(shape))

    def transpose(self, x: Array, axes: Sequence[int]) -> Array:
        return tf.transpose(x, tuple(axes))

    def flip(self, x: Array, axis: int) -> Array:
        return tf.reverse(x, [axis])

    def concat(self, xs: Sequence[Array], axis: int = 0) -> Array:
        return tf.concat(list(xs), axis)

    def stack(self, xs: Sequence[Array], axis: int = 0) -> Array:
        return tf.stack(list(xs), axis)

    # --- selection
    def take(self, x: Array, indices: Array) -> Array:
        return tf.gather(x, indices)

    def pick(self, x: Array, indices: Array) -> Array:
        return tf.gather(x, tf.cast(indices, tf.int32), batch_dims=len(indices.shape))

    def one_hot(self, indices: Array, depth: int) -> Array:
        return tf.one_hot(indices, depth, dtype=self.dtype)

    # --- layers
    def matmul(self, a: Array, b: Array) -> Array:
        return a @ b

    def log_softmax(self, x: Array) -> Array:
        return tf.nn.log_softmax(x)

    def conv2d(self, x: Array, w: Array, b: Array, padding: int = 0) -> Array:
        # TensorFlow convolves images (B, H, W, C) only on a CPU
        pads = [[0, 0], [padding, padding], [padding, padding], [0, 0]]
        x, w = tf.transpose(x, (0, 2, 3, 1)), tf.transpose(w, (2, 3, 1, 0))
        return tf.transpose(tf.nn.conv2d(x, w, 1, pads) + b, (0, 3, 1, 2))

    def max_pool2d(self, x: Array, size: int) -> Array:
        return self._pooled(tf.nn.max_pool2d, x, size)

    def avg_pool2d(self, x: Array, size: int) -> Array:
        return self._pooled(tf.nn.avg_pool2d, x, size)

    def _pooled(self, pool: Callable[..., Array], x: Array, size: int) -> Array:
        y = pool(tf.transpose(x, (0, 2, 3, 1)), size, size, "VALID")
        return tf.transpose(y, (0, 3, 1, 2))

    # --- control
    def scan(
        self, step: Callable[[Any, Array], tuple[Any, Array]], carry: Any, xs: Array
    ) -> tuple[Any, Array]:
        if not tf.executing_eagerly():
            return _loop(step, carry, xs)
        ys = []
        for x in tf.unstack(xs):
            carry, y = step(carry, x)
            ys.append(y)
        return carry, tf.stack(ys)

    def stop_gradient(self, x: Array) -> Array:
        return tf.stop_gradient(x)

    def value_and_grad(
        self, function: Callable[..., tuple[Array, Any]]
    ) -> Callable[..., tuple[tuple[Array, Any], Weights]]:
        def with_gradient(weights: Weights, *args: Any) -> tuple[tuple[Array, Any], Weights]:
            # copies: a tensor that is also in args, or there twice, is watched only here
            leaves = {n: tf.identity(w) for n, w in weights.items()}
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(leaves)
                value, aux = function(leaves, *args)
            grads = tape.gradient(value, leaves, unconnected_gradients="zero")
            # the gradient of take is a list of rows
            return (value, aux), {n: tf.convert_to_tensor(g) for n, g in grads.items()}

        return with_gradient


def _loop(
    step: Callable[[Any, Array], tuple[Any, Array]], carry: Any, xs: Array
) -> tuple[Any, Array]:
    """A scan inside a graph: one copy of the step is compiled, whatever the number of steps."""
    count = xs.shape[0]
    _, y = tf.function(step, autograph=False).get_concrete_function(carry, xs[0]).structured_outputs
    ys = tf.TensorArray(y.dtype, count, element_shape=y.shape)

    def body(t: Array, carry: Any, ys: tf.TensorArray) -> tuple[Array, Any, tf.TensorArray]:
        carry, y = step(carry, xs[t])
        return t + 1, carry, ys.write(t, y)

    # XLA has to know how much a gradient will need of it
    _, carry, ys = tf.while_loop(
        lambda t, *_: t < count, body, (0, carry, ys), maximum_iterations=count
    )
    return carry, ys.stack()
