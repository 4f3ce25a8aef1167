"""Ops over MXNet's NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mxnet as mx
import numpy as np
from mxnet import autograd, npx

from lockstep.frameworks.mxnet.arrays import use_numpy_operators
from lockstep.frameworks.mxnet.fused import PARTS, unstacked
from lockstep.frameworks.mxnet.recording import Recording, compile_function
from lockstep.ops import Array, Weights
from lockstep.trees import detached


class MxnetOps:
    """mx.np and mx.npx on one device; `compiled` compiles what is differentiated."""

    def __init__(
        self,
        precision: str,
        fused: bool = True,
        device: mx.Context | None = None,
        compiled: bool = False,
    ) -> None:
        npx.set_np()  # arrays without axes: a switch of the whole thread, MXNet has no other
        use_numpy_operators()
        self.precision = precision
        self.dtype = np.dtype(precision)
        self.fused: Mapping[str, Callable[..., Any]] = PARTS if fused else {}
        self.device = device or mx.cpu(0)
        self.compiled = compiled
        self.recording: Recording | None = None  # of a function that is being compiled

    # --- in and out
    def asarray(self, value: Any) -> Array:
        array = np.asarray(value)
        keep = array.dtype in (np.uint8, np.bool_)  # int32: MXNet has no other types for indices
        dtype = self.dtype if array.dtype.kind == "f" else array.dtype if keep else np.int32
        return self._made(mx.np.array(array, dtype=dtype, ctx=self.device))

    def to_numpy(self, x: Array) -> np.ndarray:
        return x.asnumpy()

    def floating(self, x: Array) -> Array:
        return npx.cast(x, dtype=self.precision)

    def whole(self, x: Array) -> Array:
        return npx.cast(x, dtype="int32")

    def zeros(self, shape: Sequence[int]) -> Array:
        return self._made(mx.np.zeros(tuple(shape), dtype=self.dtype, ctx=self.device))

    def _made(self, array: Array) -> Array:
        if self.recording is not None:
            self.recording.add(array)
        return array

    # --- elementwise
    def exp(self, x: Array) -> Array:
        return mx.np.exp(x)

    def log(self, x: Array) -> Array:
        return mx.np.log(x)

    def sqrt(self, x: Array) -> Array:
        return mx.np.sqrt(x)

    def abs(self, x: Array) -> Array:
        return mx.np.abs(x)

    def tanh(self, x: Array) -> Array:
        return mx.np.tanh(x)

    def sigmoid(self, x: Array) -> Array:
        return npx.sigmoid(x)

    def relu(self, x: Array) -> Array:
        return npx.relu(x)

    def maximum(self, a: Array, b: Any) -> Array:
        return mx.np.maximum(a, b)

    def minimum(self, a: Array, b: Any) -> Array:
        return mx.np.minimum(a, b)

    def where(self, condition: Array, a: Any, b: Any) -> Array:
        return mx.np.where(condition, self._array(a), self._array(b))

    def _array(self, value: Any) -> Array:
        return value if isinstance(value, mx.np.ndarray) else self.asarray(float(value))

    def floor_divide(self, a: Array, b: Array) -> Array:
        # of whole numbers of 32 bits the quotient in float64 is never rounded across one
        quotient = npx.cast(a, dtype="float64") / npx.cast(b, dtype="float64")
        return npx.cast(mx.np.floor(quotient), dtype="int32")

    # --- reductions
    def sum(self, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
        return mx.np.sum(x, axis=axis, keepdims=keepdims)

    def mean(self, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
        return mx.np.mean(x, axis=axis, keepdims=keepdims)

    def max(self, x: Array, axis: Any, keepdims: bool = False) -> Array:
        # mx.np.max gives every tie its gradient, pick the first alone
        return npx.pick(x, self.argmax(x, axis), axis=axis, keepdims=keepdims)

    def argmax(self, x: Array, axis: Any = -1) -> Array:
        return npx.cast(mx.np.argmax(x, axis=axis), dtype="int32")

    # --- shape
    def reshape(self, x: Array, shape: Sequence[int]) -> Array:
        return x.reshape(tuple(shape))

    def transpose(self, x: Array, axes: Sequence[int]) -> Array:
        return _around_bool(lambda x: mx.np.transpose(x, tuple(axes)), x)

    def flip(self, x: Array, axis: int) -> Array:
        return _around_bool(lambda x: mx.np.flip(x, axis), x)

    def concat(self, xs: Sequence[Array], axis: int = 0) -> Array:
        return mx.np.concatenate(list(xs), axis=axis)

    def stack(self, xs: Sequence[Array], axis: int = 0) -> Array:
        return mx.np.stack(list(xs), axis=axis)

    # --- selection
    def take(self, x: Array, indices: Array) -> Array:
        return mx.np.take(x, indices, axis=0, mode="clip")

    def pick(self, x: Array, indices: Array) -> Array:
        return npx.pick(x, indices, axis=-1)

    def one_hot(self, indices: Array, depth: int) -> Array:
        return npx.one_hot(indices, depth, dtype=self.precision)

    # --- layers
    def matmul(self, a: Array, b: Array) -> Array:
        return mx.np.dot(a, b)

    def log_softmax(self, x: Array) -> Array:
        return npx.log_softmax(x, axis=-1)

    def conv2d(self, x: Array, w: Array, b: Array, padding: int = 0) -> Array:
        return npx.convolution(
            x, w, b, kernel=w.shape[2:], num_filter=w.shape[0], pad=(padding, padding)
        )

    def max_pool2d(self, x: Array, size: int) -> Array:
        return self._pool(x, size, "max")

    def avg_pool2d(self, x: Array, size: int) -> Array:
        return self._pool(x, size, "avg")

    def _pool(self, x: Array, size: int, kind: str) -> Array:
        # as images of one channel, channels last: MXNet's own kernel. oneDNN's, which takes
        # channels first, has a wrong gradient where x is a view (x[None], x[1:3])
        batch, channels, height, width = x.shape
        images = x.reshape((batch * channels, height, width, 1))
        window = {"kernel": (size, size), "stride": (size, size), "layout": "NHWC"}
        pooled = npx.pooling(images, pool_type=kind, **window)
        return pooled.reshape((batch, channels, *pooled.shape[1:3]))

    # --- control
    def scan(
        self, step: Callable[[Any, Array], tuple[Any, Array]], carry: Any, xs: Array
    ) -> tuple[Any, Array]:
        ys = []
        for x in unstacked(xs):
            carry, y = step(carry, x)
            ys.append(y)
        return carry, mx.np.stack(ys)

    def stop_gradient(self, x: Array) -> Array:
        return mx.nd.BlockGrad(x.as_nd_ndarray()).as_np_ndarray()

    def value_and_grad(
        self, function: Callable[..., tuple[Array, Any]]
    ) -> Callable[..., tuple[tuple[Array, Any], Weights]]:
        run = compile_function(self, function) if self.compiled else function

        def with_gradient(weights: Weights, *args: Any) -> tuple[tuple[Array, Any], Weights]:
            leaves = {n: w.detach() for n, w in weights.items()}
            grads = {n: mx.np.zeros_like(w) for n, w in weights.items()}
            autograd.mark_variables(list(leaves.values()), list(grads.values()))
            with autograd.record():
                value, aux = run(leaves, *args)
            try:
                value.backward()
            except mx.MXNetError as error:
                if "not in a computational graph" not in str(error):
                    raise
                # it depends on none of the weights: their gradients stay zero
            return (value.detach(), detached(mx.np.ndarray, aux)), grads

        return with_gradient


def _around_bool(function: Callable[[Array], Array], x: Array) -> Array:
    """function(x), where it has no kernel for booleans."""
    if x.dtype != np.bool_:
        return function(x)
    return npx.cast(function(npx.cast(x, dtype="uint8")), dtype="bool")
