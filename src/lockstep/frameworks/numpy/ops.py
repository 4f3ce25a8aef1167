"""NumPy's Ops: every function takes arrays or Vars, and builds a graph only if a Var is among them.

The contract is in `lockstep/ops.py`; here each function carries its gradient rule, in the
convention of `autodiff.py`. Nothing here writes into its inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from lockstep.checks import one_of
from lockstep.frameworks.numpy import autodiff, windows
from lockstep.frameworks.numpy.autodiff import Var, backward, node, value_of
from lockstep.spec.run import PRECISIONS
from lockstep.trees import mapped

Array = Any
Axis = int | tuple[int, ...] | None


class NumpyOps:
    """The Ops of NumPy in one precision.

    Under NumPy 1 an operator on a plain 0-d float32 and a Python float gives float64, and no
    adapter can help it: every function here, `to_numpy` too, takes it back to the precision.

    >>> ops = NumpyOps("float64")
    >>> ops.relu(ops.asarray([-1.0, 2.0]))
    array([0., 2.])
    >>> g = ops.value_and_grad(lambda w, x: (ops.sum(ops.relu(w["a"] * x)), None))
    >>> g({"a": np.array([3.0, 4.0])}, np.array([1.0, 2.0]))
    ((array(11.), None), {'a': array([1., 2.])})
    """

    fused: Mapping[str, Callable[..., Any]]

    def __init__(self, precision: str) -> None:
        one_of("precision", precision, PRECISIONS)
        self.precision = precision
        self.fused = {}
        self._dtype = np.dtype(precision)

    def _whole(self, x: Any) -> bool:
        return not isinstance(x, Var) and np.asarray(x).dtype.kind not in "fc"

    def _alike(self, *xs: Any) -> list[Array]:
        # floating as soon as one is: NumPy would take float32 and int32 to float64
        whole = all(self._whole(x) for x in xs)
        return [np.asarray(x) if whole else self.floating(x) for x in xs]

    def _node(self, value: Any, *parents: tuple[Any, autodiff.Vjp]) -> Array:
        # under NumPy 1 a 0-d float32 with a Python float is float64
        return node(np.asarray(value, self._dtype), *parents)

    # --- in and out

    def asarray(self, value: Any) -> Array:
        if isinstance(value, Var):
            return value
        value = np.asarray(value)
        return value.astype(self._dtype, copy=False) if value.dtype.kind == "f" else value

    def to_numpy(self, x: Array) -> np.ndarray:
        return self.asarray(value_of(x))

    def floating(self, x: Array) -> Array:
        return x if isinstance(x, Var) else np.asarray(x, self._dtype)

    def whole(self, x: Array) -> Array:
        return np.asarray(x, np.int64)

    def zeros(self, shape: Sequence[int]) -> Array:
        return np.zeros(shape, self._dtype)

    # --- elementwise

    def exp(self, x: Array) -> Array:
        """d exp x = exp(x) dx."""
        out = np.exp(value_of(self.floating(x)))
        return self._node(out, (x, lambda g: g * out))

    def log(self, x: Array) -> Array:
        """d log x = dx / x."""
        v = value_of(self.floating(x))
        return self._node(np.log(v), (x, lambda g: g / v))

    def sqrt(self, x: Array) -> Array:
        """d sqrt x = dx / (2 sqrt x)."""
        out = np.sqrt(value_of(self.floating(x)))
        return self._node(out, (x, lambda g: g / (2 * out)))

    def abs(self, x: Array) -> Array:
        """d |x| = sign(x) dx, sign(0) = 0."""
        v = value_of(self.floating(x))
        return self._node(np.abs(v), (x, lambda g: g * np.sign(v)))

    def tanh(self, x: Array) -> Array:
        """d tanh x = (1 - tanh^2 x) dx."""
        out = np.tanh(value_of(self.floating(x)))
        return self._node(out, (x, lambda g: g * (1 - out * out)))

    def sigmoid(self, x: Array) -> Array:
        """s = 1 / (1 + exp(-x)): ds = s (1 - s) dx."""
        v = value_of(self.floating(x))
        e = np.exp(-np.abs(v))  # at most 1, and both tails keep their relative accuracy
        out = np.where(v < 0, e, np.ones_like(e)) / (1 + e)
        return self._node(out, (x, lambda g: g * (e / np.square(1 + e))))

    def relu(self, x: Array) -> Array:
        """d max(x, 0) = [x > 0] dx."""
        v = value_of(self.floating(x))
        return self._node(np.maximum(v, 0), (x, lambda g: g * (v > 0)))

    def maximum(self, a: Array, b: Any) -> Array:
        """d max(a, b) = [a > b] da + [b > a] db, and half of each where they are equal."""
        a, b = self._alike(a, b)
        x, y = value_of(a), value_of(b)
        rules = (a, lambda g: g * _above(x, y)), (b, lambda g: g * _above(y, x))
        return node(np.maximum(x, y), *rules)

    def minimum(self, a: Array, b: Any) -> Array:
        """d min(a, b) = [a < b] da + [b < a] db, and half of each where they are equal."""
        a, b = self._alike(a, b)
        x, y = value_of(a), value_of(b)
        rules = (a, lambda g: g * _above(y, x)), (b, lambda g: g * _above(x, y))
        return node(np.minimum(x, y), *rules)

    def where(self, condition: Array, a: Any, b: Any) -> Array:
        """d where(c, a, b) = c da + (1 - c) db."""
        a, b = self._alike(a, b)
        c = np.asarray(value_of(condition), bool)
        out = np.where(c, value_of(a), value_of(b))
        return node(out, (a, lambda g: g * c), (b, lambda g: g * ~c))

    def floor_divide(self, a: Array, b: Array) -> Array:
        return a // b

    # --- reductions

    def sum(self, x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
        """d sum x = sum dx: g to every entry."""
        v = value_of(self.asarray(x))
        out = v.sum(axis=axis, keepdims=keepdims)
        return node(out, (x, lambda g: _spread(g, v.shape, axis, keepdims)))

    def mean(self, x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
        """d mean x = mean dx: g / n to every entry."""
        v = value_of(self.floating(x))
        out = v.mean(axis=axis, keepdims=keepdims)
        n = v.size // max(out.size, 1)
        return self._node(out, (x, lambda g: _spread(g / n, v.shape, axis, keepdims)))

    def max(self, x: Array, axis: Any, keepdims: bool = False) -> Array:
        """d max x = dx at the first largest."""
        v = value_of(self.asarray(x))

        def back(g: np.ndarray) -> np.ndarray:
            at = np.expand_dims(v.argmax(axis), axis)
            return _place(g if keepdims else np.expand_dims(g, axis), at, v, axis)

        return node(v.max(axis=axis, keepdims=keepdims), (x, back))

    def argmax(self, x: Array, axis: Any = -1) -> Array:
        return np.asarray(np.argmax(value_of(x), axis))

    # --- shape: the gradient takes the same way back

    def reshape(self, x: Array, shape: Sequence[int]) -> Array:
        v = value_of(self.asarray(x))
        return node(v.reshape(tuple(shape)), (x, lambda g: g.reshape(v.shape)))

    def transpose(self, x: Array, axes: Sequence[int]) -> Array:
        v = value_of(self.asarray(x))
        back = np.argsort([axis % v.ndim for axis in axes])
        return node(v.transpose(tuple(axes)), (x, lambda g: g.transpose(tuple(back))))

    def flip(self, x: Array, axis: int) -> Array:
        return node(np.flip(value_of(x), axis), (x, lambda g: np.flip(g, axis)))

    def concat(self, xs: Sequence[Array], axis: int = 0) -> Array:
        xs = self._alike(*xs)
        out = np.concatenate([value_of(x) for x in xs], axis)
        ends = np.cumsum([x.shape[axis] for x in xs])
        cuts = [slice(end - x.shape[axis], end) for x, end in zip(xs, ends, strict=True)]
        return node(out, *_cut_back(xs, cuts, axis % out.ndim))

    def stack(self, xs: Sequence[Array], axis: int = 0) -> Array:
        xs = self._alike(*xs)
        out = np.stack([value_of(x) for x in xs], axis)
        return node(out, *_cut_back(xs, range(len(xs)), axis % out.ndim))

    # --- selection

    def take(self, x: Array, indices: Array) -> Array:
        """d take(x, i): g added to row i, as often as the row was taken."""
        v, at = value_of(self.asarray(x)), np.asarray(indices)

        def back(g: np.ndarray) -> np.ndarray:
            grad = np.zeros_like(v)
            np.add.at(grad, at, g)
            return grad

        return node(v[at], (x, back))

    def pick(self, x: Array, indices: Array) -> Array:
        """d pick(x, i): g at i of the last axis, 0 elsewhere."""
        v, at = value_of(self.asarray(x)), np.asarray(indices)[..., None]
        out = np.take_along_axis(v, at, -1)[..., 0]
        return node(out, (x, lambda g: _place(g[..., None], at, v, -1)))

    def one_hot(self, indices: Array, depth: int) -> Array:
        return (np.asarray(indices)[..., None] == np.arange(depth)).astype(self._dtype)

    # --- layers

    def matmul(self, a: Array, b: Array) -> Array:
        return autodiff.matmul(self.floating(a), self.floating(b))

    def log_softmax(self, x: Array) -> Array:
        """y = x - log sum exp x: the gradient is g - exp(y) sum g."""
        v = value_of(self.floating(x))
        shifted = v - v.max(axis=-1, keepdims=True)
        out = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
        return self._node(out, (x, lambda g: g - np.exp(out) * g.sum(axis=-1, keepdims=True)))

    def conv2d(self, x: Array, w: Array, b: Array, padding: int = 0) -> Array:
        """With each window as a column c, out = w c + b: dc = w^T g, dw = g c^T, db = sum g."""
        v, k, bias = (value_of(self.floating(each)) for each in (x, w, b))
        height, width = k.shape[2:]
        cols = windows.columns(v, height, width, padding)

        def back_x(g: np.ndarray) -> np.ndarray:
            flat = k.reshape(len(k), -1).T @ windows.outputs_first(g)
            return windows.uncolumns(flat.reshape(cols.shape), v.shape, padding)

        def back_w(g: np.ndarray) -> np.ndarray:
            return (windows.outputs_first(g) @ cols.reshape(k[0].size, -1).T).reshape(k.shape)

        out = windows.convolve(cols, k, bias)
        return self._node(out, (x, back_x), (w, back_w), (b, lambda g: g.sum(axis=(0, 2, 3))))

    def max_pool2d(self, x: Array, size: int) -> Array:
        """d max = dx at the first largest of each window."""
        v = value_of(self.floating(x))
        out = windows.max_pool(v, size)
        return self._node(out, (x, lambda g: windows.max_pool_back(g, v, out, size)))

    def avg_pool2d(self, x: Array, size: int) -> Array:
        """d mean = mean dx over each window."""
        v = value_of(self.floating(x))
        out = windows.avg_pool(v, size)
        return self._node(out, (x, lambda g: windows.avg_pool_back(g, v.shape, size)))

    # --- control

    def scan(
        self, step: Callable[[Any, Array], tuple[Any, Array]], carry: Any, xs: Array
    ) -> tuple[Any, Array]:
        ys = []
        for t in range(len(xs)):
            carry, y = step(carry, xs[t])
            ys.append(y)
        return carry, self.stack(ys)

    def stop_gradient(self, x: Array) -> Array:
        return value_of(x)

    def value_and_grad(
        self, function: Callable[..., tuple[Array, Any]]
    ) -> Callable[..., tuple[tuple[Array, Any], dict[str, Array]]]:
        def both(weights: Mapping[str, Array], *args: Any) -> tuple[Any, dict[str, Array]]:
            leaves = {name: Var(value_of(self.floating(w))) for name, w in weights.items()}
            scalar, aux = function(leaves, *args)
            found = backward(scalar) if isinstance(scalar, Var) else {}
            grads = {
                name: found[id(leaf)] if id(leaf) in found else np.zeros_like(leaf.value)
                for name, leaf in leaves.items()
            }
            return (self.floating(value_of(scalar)), mapped(value_of, Var, aux)), grads

        return both


# --- helpers of the rules, on plain arrays


def _above(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """1 where x > y, 1/2 where x = y, 0 elsewhere, in x's dtype."""
    return ((x > y).astype(x.dtype) + (x >= y)) / 2


def _spread(g: np.ndarray, shape: tuple[int, ...], axis: Axis, keepdims: bool) -> np.ndarray:
    """g of a reduction back over the axes that it removed."""
    if axis is not None and not keepdims:
        g = np.expand_dims(g, axis)
    return np.broadcast_to(g, shape)


def _place(g: np.ndarray, at: np.ndarray, like: np.ndarray, axis: int) -> np.ndarray:
    """Zeros like `like`, with g at the indices `at` along an axis."""
    grad = np.zeros_like(like)
    np.put_along_axis(grad, at, g, axis)
    return grad


def _cut_back(
    xs: Sequence[Any], cuts: Iterable[int | slice], axis: int
) -> Iterator[tuple[Any, autodiff.Vjp]]:
    """For each x the rule that cuts its own part out of g, along an axis."""
    for x, cut in zip(xs, cuts, strict=True):
        yield x, itemgetter((slice(None),) * axis + (cut,))
