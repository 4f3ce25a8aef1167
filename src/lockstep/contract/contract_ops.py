"""ContractOps: the functions of Ops over a framework's kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from lockstep.contract import operators
from lockstep.contract import shape_rules as shapes
from lockstep.contract.array import Array
from lockstep.contract.dtypes import BOOL, FLOAT, INT, checked_numpy, common, kind_of
from lockstep.errors import InputError
from lockstep.ops import Kernels, Weights, added
from lockstep.trees import mapped, mapped_leaves

Axis = int | tuple[int, ...] | None


class ContractOps:
    """The Ops that a person's net is given. Inside a net, where some frameworks compile and hold
    no numbers yet, none can be read out of an array."""

    array_type = Array
    fused: Mapping[str, Callable[..., Any]] = {}  # these are for the kernels' own arrays

    def __init__(self, kernels: Any, inside_net: bool = False) -> None:
        self.kernels: Kernels = kernels
        self.precision = self.kernels.precision
        self._inside_net = inside_net

    def __getattr__(self, name: str) -> Any:
        """An operation that was added: `lockstep.ops.add`."""
        function = added(name)
        if function is None:
            raise AttributeError(f"Ops has no {name!r}: see lockstep/ops.py")
        return partial(function, self)

    def wrap(self, native: Any, kind: str | None = None) -> Array:
        """The framework's own array as one of the contract's."""
        return Array(self, native, kind or kind_of(native.dtype))

    def _array(self, x: Any) -> Array:
        return x if isinstance(x, Array) else self.asarray(x)

    def _floats(self, x: Any) -> Any:
        return operators.cast(self, self._array(x), FLOAT)

    def _alike(self, xs: Iterable[Any]) -> tuple[list[Any], str]:
        """The framework's own arrays, all floats or all whole numbers; or as they are, if alike."""
        arrays = [self._array(x) for x in xs]
        kinds = {x.kind for x in arrays}
        kind = kinds.pop() if len(kinds) == 1 else common(kinds)
        return [x.native if x.kind == kind else operators.cast(self, x, kind) for x in arrays], kind

    # --- in and out

    def asarray(self, value: Any) -> Array:
        return value if isinstance(value, Array) else self.wrap(
            self.kernels.asarray(checked_numpy(value))
        )  # fmt: skip

    def to_numpy(self, x: Array) -> np.ndarray:
        if self._inside_net:
            problem = "its numbers are not known yet where a framework compiles the net"
            remedy = "Compute with ops: ops.where in place of if, ops.sum in place of a loop."
            raise InputError("array", f"of shape {x.shape}", problem, remedy)
        return np.asarray(self.kernels.to_numpy(x.native)).astype(x.dtype, copy=False)

    def floating(self, x: Array) -> Array:
        return self.wrap(self._floats(x), FLOAT)

    def zeros(self, shape: int | Sequence[int]) -> Array:
        return self.wrap(self.kernels.zeros(shapes.new_shape(shape)), FLOAT)

    def ones(self, shape: int | Sequence[int]) -> Array:
        return self.zeros(shape) + 1.0

    # --- elementwise

    def exp(self, x: Array) -> Array:
        return self.wrap(self.kernels.exp(self._floats(x)), FLOAT)

    def log(self, x: Array) -> Array:
        return self.wrap(self.kernels.log(self._floats(x)), FLOAT)

    def sqrt(self, x: Array) -> Array:
        return self.wrap(self.kernels.sqrt(self._floats(x)), FLOAT)

    def tanh(self, x: Array) -> Array:
        return self.wrap(self.kernels.tanh(self._floats(x)), FLOAT)

    def sigmoid(self, x: Array) -> Array:
        return self.wrap(self.kernels.sigmoid(self._floats(x)), FLOAT)

    def abs(self, x: Array) -> Array:
        x = self._array(x)
        if x.kind == FLOAT:
            return self.wrap(self.kernels.abs(x.native), FLOAT)
        return self.where(x < 0, -x, x)

    def relu(self, x: Array) -> Array:
        x = self._array(x)
        if x.kind == FLOAT:
            return self.wrap(self.kernels.relu(x.native), FLOAT)
        return self.maximum(x, 0)

    def maximum(self, a: Array, b: Any) -> Array:
        a, b = operators.operands(self, "maximum", self._array(a), b)
        return self.where(self._first(a, b, ">="), a, b)

    def minimum(self, a: Array, b: Any) -> Array:
        a, b = operators.operands(self, "minimum", self._array(a), b)
        return self.where(self._first(a, b, "<="), a, b)

    def _first(self, a: Array, b: Any, sign: str) -> Array:
        """Where a is what maximum or minimum takes: also where it is not a number."""
        first = operators.compare(self, sign, a, b)
        return first | (a != a) if a.kind == FLOAT else first

    def where(self, condition: Array, a: Any, b: Any) -> Array:
        condition = self._array(condition)
        truth = condition if condition.kind == BOOL else condition != 0
        (left, right), kind = self._alike((a, b))
        shapes.broadcast(truth.shape, tuple(left.shape), tuple(right.shape))
        return self.wrap(self.kernels.where(truth.native, left, right), kind)

    # --- reductions

    def sum(self, x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
        x = self._array(x)
        kind = common((x.kind,))
        native = operators.cast(self, x, kind)
        axes = shapes.axes(axis, x.ndim)
        if axes:
            native = self.kernels.sum(native, axis=axes, keepdims=keepdims)
        return self.wrap(native if kind == FLOAT else self.kernels.whole(native), kind)

    def mean(self, x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
        x = self.floating(x)
        axes = shapes.axes(axis, x.ndim)
        if not axes:
            return x
        return self.wrap(self.kernels.mean(x.native, axis=axes, keepdims=keepdims), FLOAT)

    def max(self, x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
        x, axes, final = self._reduced_last(x, axis, keepdims)
        if not axes:
            return x
        kind = common((x.kind,))
        native = self.kernels.max(operators.cast(self, x, kind), axis=1)
        return self.reshape(self.wrap(native, kind), final)

    def argmax(self, x: Array, axis: int | None = -1) -> Array:
        if isinstance(axis, tuple):
            raise InputError("axis", axis, "argmax is along one axis", "Give one, or None.")
        x, axes, final = self._reduced_last(x, axis, keepdims=False)
        if not axes:
            return self.asarray(0)
        native = self.kernels.argmax(operators.cast(self, x, common((x.kind,))), 1)
        return self.reshape(self.wrap(self.kernels.whole(native), INT), final)

    def _reduced_last(
        self, x: Array, axis: Axis, keepdims: bool
    ) -> tuple[Array, tuple[int, ...], tuple[int, ...]]:
        """x as (kept, removed) entries; the axes that a reduction removes; the result's shape."""
        x = self._array(x)
        axes = shapes.axes(axis, x.ndim)
        kept = [i for i in range(x.ndim) if i not in axes]
        final = shapes.reduced(x.shape, axes, keepdims)
        if not axes:
            return x, axes, final
        rows = prod(x.shape[i] for i in kept)
        return self.reshape(self.transpose(x, [*kept, *axes]), (rows, -1)), axes, final

    # --- shape

    def reshape(self, x: Array, shape: int | Sequence[int]) -> Array:
        x = self._array(x)
        shape = shapes.reshaped(x.shape, shape)
        return x if shape == x.shape else self.wrap(self.kernels.reshape(x.native, shape), x.kind)

    def transpose(self, x: Array, axes: Sequence[int]) -> Array:
        x = self._array(x)
        order = shapes.permutation(axes, x.ndim)
        if order == tuple(range(x.ndim)):
            return x
        return self.wrap(self.kernels.transpose(x.native, order), x.kind)

    def concat(self, xs: Sequence[Array], axis: int = 0) -> Array:
        natives, kind = self._alike(xs)
        place = shapes.joined(tuple(tuple(x.shape) for x in natives), axis)
        return self.wrap(self.kernels.concat(natives, place), kind)

    def stack(self, xs: Sequence[Array], axis: int = 0) -> Array:
        natives, kind = self._alike(xs)
        place = shapes.stacked(tuple(tuple(x.shape) for x in natives), axis)
        return self.wrap(self.kernels.stack(natives, place), kind)

    # --- selection

    def take(self, x: Array, indices: Array) -> Array:
        x = self._array(x)
        if not x.shape:
            raise InputError(
                "x", "an array without axes", "has no rows to take", "Give it an axis."
            )
        at, shape = self._indices(indices, x.shape[0])
        native = self.kernels.take(x.native, self.kernels.reshape(at, (prod(shape),)))
        return self.reshape(self.wrap(native, x.kind), (*shape, *x.shape[1:]))

    def pick(self, x: Array, indices: Array) -> Array:
        x = self._array(x)
        if not x.shape:
            problem = "has no entries to pick from"
            raise InputError("x", "an array without axes", problem, "Give it an axis.")
        at, shape = self._indices(indices, x.shape[-1])
        if shape != x.shape[:-1]:
            problem = f"is not that of x without its last axis, {x.shape[:-1]}"
            raise InputError("shape of indices", shape, problem, "Give one index for each row.")
        kind = common((x.kind,))
        count = prod(shape)
        rows = self.kernels.reshape(operators.cast(self, x, kind), (count, x.shape[-1]))
        native = self.kernels.pick(rows, self.kernels.reshape(at, (count,)))
        return self.reshape(self.wrap(native, kind), shape)

    def _indices(self, indices: Any, size: int) -> tuple[Any, tuple[int, ...]]:
        """The framework's own indices, counted from the start, and their shape."""
        if not isinstance(indices, Array):
            given = checked_numpy(indices)
            _require_indices(given.dtype.name, given.dtype.kind in "iu")
            shapes.require_range(given, size)
            return self.kernels.asarray(np.where(given < 0, given + size, given)), given.shape
        _require_indices(str(indices.dtype), indices.kind not in (FLOAT, BOOL))
        if indices.kind == INT:
            indices = self.where(indices < 0, indices + size, indices)
        return operators.cast(self, indices, INT), indices.shape

    def one_hot(self, indices: Array, depth: int) -> Array:
        indices = self._array(indices)
        _require_indices(str(indices.dtype), indices.kind not in (FLOAT, BOOL))
        return self.floating(indices[..., None] == np.arange(depth))

    # --- layers

    def matmul(self, a: Array, b: Array) -> Array:
        a, b = self.floating(a), self.floating(b)
        left, right, final = shapes.product(a.shape, b.shape)
        whole_left, whole_right = shapes.batched(left, right)
        a = self._spread(self.reshape(a, left), whole_left)
        b = self._spread(self.reshape(b, right), whole_right)
        return self.reshape(self.wrap(a.native @ b.native, FLOAT), final)

    def _spread(self, x: Array, shape: tuple[int, ...]) -> Array:
        """Floats broadcast to a shape."""
        return x if x.shape == shape else x + self.zeros(shape)

    def log_softmax(self, x: Array) -> Array:
        x = self.floating(x)
        shapes.axes(-1, x.ndim)
        return self.wrap(self.kernels.log_softmax(x.native), FLOAT)

    def conv2d(self, x: Array, w: Array, b: Array, padding: int = 0) -> Array:
        x, w, b = self.floating(x), self.floating(w), self.floating(b)
        shapes.require_convolution(x.shape, w.shape, b.shape, padding)
        return self.wrap(self.kernels.conv2d(x.native, w.native, b.native, padding), FLOAT)

    def max_pool2d(self, x: Array, size: int) -> Array:
        x = self.floating(x)
        shapes.require_windows(x.shape, size)
        return self.wrap(self.kernels.max_pool2d(x.native, size), FLOAT)

    def avg_pool2d(self, x: Array, size: int) -> Array:
        x = self.floating(x)
        shapes.require_windows(x.shape, size)
        return self.wrap(self.kernels.avg_pool2d(x.native, size), FLOAT)

    # --- control

    def scan(
        self, step: Callable[[Any, Array], tuple[Any, Array]], carry: Any, xs: Array
    ) -> tuple[Any, Array]:
        xs = self._array(xs)
        len(xs)  # it must have an axis
        start = mapped_leaves(self.floating, carry)
        kinds = []

        def own(native_carry: Any, x: Any) -> tuple[Any, Any]:
            wrapped = mapped_leaves(lambda native: self.wrap(native, FLOAT), native_carry)
            after, y = step(wrapped, self._from_whole(x, xs.kind))
            y = self._array(y)
            kinds.append(y.kind)
            return mapped_leaves(self._floats, after), self._to_whole(y)

        last, ys = self.kernels.scan(own, mapped_leaves(_native, start), self._to_whole(xs))
        carried = mapped_leaves(lambda native: self.wrap(native, FLOAT), last)
        return carried, self._from_whole(ys, kinds[0])

    def _to_whole(self, x: Array) -> Any:
        """The framework's own array, booleans as whole numbers: some split and stack no others."""
        return self.kernels.whole(x.native) if x.kind == BOOL else x.native

    def _from_whole(self, native: Any, kind: str) -> Array:
        return self.wrap(native != 0 if kind == BOOL else native, kind)

    def stop_gradient(self, x: Array) -> Array:
        x = self._array(x)
        return self.wrap(self.kernels.stop_gradient(x.native), x.kind) if x.kind == FLOAT else x

    def value_and_grad(
        self, function: Callable[..., tuple[Array, Any]]
    ) -> Callable[..., tuple[tuple[Array, Any], Weights]]:
        def with_gradient(weights: Weights, *args: Any) -> tuple[tuple[Array, Any], Weights]:
            beside: list[Any] = []

            def native(own: dict[str, Any]) -> tuple[Any, Any]:
                value, aux = function({n: self.wrap(w, FLOAT) for n, w in own.items()}, *args)
                value, found = self.floating(value), arrays_of(aux)
                if value.shape:
                    remedy = "Sum or average it first."
                    raise InputError("output", value.shape, "is not a scalar", remedy)
                beside[:] = [aux, [x.kind for x in found]]
                return value.native, tuple(x.native for x in found)

            given = {name: self._floats(w) for name, w in weights.items()}
            (value, found), grads = self.kernels.value_and_grad(native)(given)
            aux, kinds = beside
            arrays = iter([self.wrap(x, kind) for x, kind in zip(found, kinds, strict=True)])
            return (self.wrap(value, FLOAT), mapped(lambda _: next(arrays), Array, aux)), {
                name: self.wrap(grad, FLOAT) for name, grad in grads.items()
            }

        return with_gradient


def arrays_of(tree: Any) -> list[Array]:
    """The arrays of dicts, lists and tuples, in their order."""
    found: list[Array] = []
    mapped(found.append, Array, tree)
    return found


def _native(x: Array) -> Any:
    return x.native


def _require_indices(dtype: str, whole: bool) -> None:
    if not whole:
        raise InputError("indices", dtype, "are no whole numbers", "Give uint8 or int32.")
