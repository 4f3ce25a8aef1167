"""What models, losses and optimizers are written over: Ops, its arrays, and a run's Snapshot.

The contract of Ops is written here once; every framework keeps it. `add` makes another operation
known. Nothing here imports a framework.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from lockstep.errors import InputError
from lockstep.extensions import Registry

Array = Any  # one of Ops: what it can do is in the contract below
Arrays = dict[str, np.ndarray]
Weights = dict[str, Array]


class Ops(Protocol):
    """What models, losses and optimizers are written over, in one precision. The contract:

    Shapes are canonical: images (B, C, H, W), convolution kernels (out, in, height, width), linear
    weights (in, out), sequences (T, B, ...). Shapes broadcast as NumPy's do; others are refused.
    No array is without entries.

    Dtypes. There are four: floats of this precision, int32, uint8 and bool. `asarray` takes NumPy's
    arrays and Python's numbers: floats of any width become this precision, whole numbers int32
    (those that do not fit are refused), uint8 and bool stay. uint8 is for holding data: arithmetic
    never wraps at 256.

    - Arithmetic (`+ - *`, unary `-`) is in floats as soon as one side is floating, a number like
      0.5 included; otherwise in int32, and booleans count as 0 and 1. Each side is first taken to
      that dtype: uint8 / 255 in float64 is the float64 quotient. (NumPy would wrap uint8 at 256,
      and call True + True True.) A whole result beyond 32 bits is not defined.
    - `/`, `@`, exp, log, sqrt, tanh, sigmoid, mean, log_softmax, conv2d and pooling are of floats,
      whatever they are given.
    - `//` and `%` are of whole numbers, towards minus infinity and with the divisor's sign, as
      Python's; of floats they are refused. Dividing by an array with zeros is not defined.
    - `**` of whole numbers takes a whole number of Python's from 0 on; otherwise it is of floats.
    - Comparisons are made in floats as soon as one side is floating, else in int32; they give bool.
    - `& | ^ ~` are of booleans; of numbers they are refused. `<<` and `>>` are refused.
    - abs, relu, maximum, minimum, sum and max give int32 of whole numbers and booleans.
    - where, concat and stack keep a dtype that all share; else floats if one is floating, else
      int32. A condition that is not bool counts as true where it is not 0.
    - Indexing, reshape, transpose, take and stop_gradient keep the dtype; pick gives int32 of uint8
      and bool. argmax gives int32.
    - Beside an array, an operator takes an array, a number, or an array of NumPy's; nothing else.

    Indices. `x[...]` takes whole numbers, negative ones too, slices with any step but 0, `None` and
    one `...`; arrays and masks are refused, for take, pick and where. take and pick take whole
    numbers, negative ones counted from the end. An index out of range is refused where it is a
    number or comes from NumPy. In an array of the framework's own it is not checked where the step
    is compiled (jax, tensorflow, mindspore) nor in mxnet: the result is not defined. one_hot has
    zeros for an index outside. Arrays are not written into: `x[0] = 1` is refused.

    Axes. An axis may be negative; sum, mean and max take one, a tuple, or None for all; argmax
    takes one or None. `@` is NumPy's for one axis and for leading axes too.

    Gradients follow floats. Whole numbers, booleans and indices have none. At a tie, max, maximum,
    minimum and max_pool2d give it all to the first; abs and relu have 0 at 0; x ** 0 has 0.

    Inside a net there are no numbers yet where a framework compiles it: float(x), bool(x) (`if`),
    to_numpy and NumPy's own functions are refused there.

    All of this holds for `framework.ops(precision)` and for the Ops that a person's net is given
    (`lockstep/contract`), in every framework. Our own models are written over a framework's
    kernels: the same methods, with floats beside floats and numbers, and forward slices.
    """

    precision: str  # "float32" or "float64"
    fused: Mapping[str, Callable[..., Any]]  # faster equivalents of model parts, by their names

    # --- in and out
    def asarray(self, value: Any) -> Array:
        """From NumPy or Python: floats in this precision, uint8 and bool kept, else int32."""

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
        """Elementwise; b may be a number. Not a number where one is not."""

    def minimum(self, a: Array, b: Any) -> Array: ...
    def where(self, condition: Array, a: Any, b: Any) -> Array: ...

    # --- reductions
    def sum(
        self, x: Array, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
    ) -> Array: ...
    def mean(
        self, x: Array, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
    ) -> Array: ...
    def max(self, x: Array, axis: int | tuple[int, ...] | None, keepdims: bool = False) -> Array:
        """The largest; at ties the gradient goes to the first."""

    def argmax(self, x: Array, axis: int | None = -1) -> Array:
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
        """The same as `a @ b`."""

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

        carry is an array or a dict of arrays, all floats."""

    def stop_gradient(self, x: Array) -> Array: ...
    def value_and_grad(
        self, function: Callable[..., tuple[Array, Any]]
    ) -> Callable[..., tuple[tuple[Array, Any], Weights]]:
        """From f(weights, *args) -> (scalar, aux) to g(weights, *args) -> ((scalar, aux), grads).

        grads has the names of weights (zeros for one that was not used). The scalar, aux (an array,
        or dicts and tuples of them) and grads come back detached."""


class Kernels(Ops, Protocol):
    """A framework's operations on its own arrays: what the contract is carried out with.

    Arrays have `shape` and `dtype`, the operators + - * / ** @, unary - and comparisons beside
    arrays of the same dtype and Python's numbers of the same kind, and `x[...]` with a forward
    slice for each axis. Axes count from 0. Layers and functions are given floats.
    """

    def whole(self, x: Any) -> Any:
        """Whole numbers of any kind, or booleans, to the framework's dtype for whole numbers."""

    def floor_divide(self, a: Any, b: Any) -> Any:
        """Of whole numbers, towards minus infinity."""

    def flip(self, x: Any, axis: int) -> Any: ...


_ADDED: Registry[Callable[..., Array]] = Registry("op")
_TAKEN = {*vars(Ops), *vars(Kernels), *Ops.__annotations__}
_TAKEN |= {"array_type", "kernels", "ones", "wrap"}  # ContractOps has them beside these


def add(name: str, function: Callable[..., Array]) -> None:
    """Make an operation of your own known: `ops.NAME(...)` in a net is `function(ops, ...)`.

    The function is written over Ops, and so has its value and gradient in every framework.

    >>> add("swish", lambda ops, x: x * ops.sigmoid(x))
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise InputError("op", name, "cannot be a name", "Use letters, digits and underscores.")
    if name in _TAKEN:
        raise InputError("op", name, "is one of Ops already", "Choose another name.")
    _ADDED.add(name, function)


def added(name: str) -> Callable[..., Array] | None:
    """The function of an operation that was added, None if there is none of that name."""
    return _ADDED.get(name)


@dataclass(frozen=True)
class Snapshot:
    """All that a run needs to be continued, in canonical NumPy: weights, optimizer slots, carried
    state.

    `slots` are keyed "slot/weight" ("velocity/w_h"); `carry` is {} for models without state. `best`
    are the weights that early stopping keeps, {} without it: no step depends on them.
    """

    weights: Arrays
    slots: Arrays = field(default_factory=dict)
    carry: Arrays = field(default_factory=dict)
    best: Arrays = field(default_factory=dict)
