"""Reverse-mode automatic differentiation over NumPy: variables, their operators, the backward pass.

The gradient rules are Lockstep's own, so that they can judge every framework's. Nothing here knows
about models or layers, and no rule writes into its inputs.

In every rule below g is the gradient of the final scalar by the rule's result. A rule may return a
gradient in the broadcast shape of its result: `backward` sums it back to the shape of the parent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lockstep.errors import InputError


class Piece(NamedTuple):
    """A gradient that is zero but for one slice, so that n slices cost n, not n squared."""

    key: Any
    value: np.ndarray


Vjp = Callable[[np.ndarray], "np.ndarray | Piece"]
Operand = Any  # a Var, or an ndarray that needs no gradient


class Var:
    """A value, and for each parent that needs a gradient the function that takes g to it.

    >>> w = Var(np.array([1.0, 2.0]))
    >>> out = (np.array([3.0, 4.0]) * w**2) @ np.ones(2)
    >>> float(out.value), backward(out)[id(w)]
    (19.0, array([ 6., 16.]))
    """

    __slots__ = ("depth", "parents", "value")
    __array_ufunc__ = None  # ndarray + Var asks Var, instead of looping over the entries

    def __init__(self, value: np.ndarray, parents: tuple[tuple[Var, Vjp], ...] = ()) -> None:
        self.value = value
        self.parents = parents
        self.depth: int = 1 + max((p.depth for p, _ in parents), default=0)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def ndim(self) -> int:
        return self.value.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.value.dtype

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        return f"Var({self.value!r})"

    def _lift(self, other: Any) -> Operand:
        # in our dtype: int32 or a NumPy float64 number would turn float32 into float64
        return other if isinstance(other, Var) else np.asarray(other, self.dtype)

    def __neg__(self) -> Var:
        return negative(self)

    def __add__(self, other: Any) -> Var:
        return add(self, self._lift(other))

    def __radd__(self, other: Any) -> Var:
        return add(self._lift(other), self)

    def __sub__(self, other: Any) -> Var:
        return subtract(self, self._lift(other))

    def __rsub__(self, other: Any) -> Var:
        return subtract(self._lift(other), self)

    def __mul__(self, other: Any) -> Var:
        return multiply(self, self._lift(other))

    def __rmul__(self, other: Any) -> Var:
        return multiply(self._lift(other), self)

    def __truediv__(self, other: Any) -> Var:
        return divide(self, self._lift(other))

    def __rtruediv__(self, other: Any) -> Var:
        return divide(self._lift(other), self)

    def __pow__(self, other: Any) -> Var:
        if isinstance(other, (int, float)):
            return power_number(self, other)
        return power(self, self._lift(other))

    def __rpow__(self, other: Any) -> Var:
        return power(self._lift(other), self)

    def __matmul__(self, other: Any) -> Var:
        return matmul(self, self._lift(other))

    def __rmatmul__(self, other: Any) -> Var:
        return matmul(self._lift(other), self)

    def __getitem__(self, key: Any) -> Var:
        return getitem(self, key)

    # comparisons have no gradient: plain boolean arrays
    def __lt__(self, other: Any) -> Any:
        return self.value < value_of(other)

    def __le__(self, other: Any) -> Any:
        return self.value <= value_of(other)

    def __gt__(self, other: Any) -> Any:
        return self.value > value_of(other)

    def __ge__(self, other: Any) -> Any:
        return self.value >= value_of(other)

    def __eq__(self, other: object) -> Any:
        return self.value == value_of(other)

    def __ne__(self, other: object) -> Any:
        return self.value != value_of(other)

    __hash__ = None  # type: ignore[assignment]  # == compares entries; key by id instead


def value_of(x: Any) -> Any:
    """The array inside a Var; anything else as it is."""
    return x.value if isinstance(x, Var) else x


def node(value: Any, *parents: tuple[Operand, Vjp]) -> Any:
    """A Var if any parent is one, in that parent's dtype; otherwise the plain array: no graph."""
    kept = tuple((p, vjp) for p, vjp in parents if isinstance(p, Var))
    if not kept:
        return np.asarray(value)
    return Var(np.asarray(value, kept[0][0].dtype), kept)


# --- the backward pass


def unbroadcast(g: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The sum of g over the axes that broadcasting to g's shape added or stretched.

    >>> unbroadcast(np.ones((4, 2, 3)), (2, 1))
    array([[12.],
           [12.]])
    """
    if g.shape == shape:
        return g
    added = g.ndim - len(shape)
    stretched = (i + added for i, n in enumerate(shape) if n == 1 and g.shape[i + added] != 1)
    return g.sum(axis=(*range(added), *stretched)).reshape(shape)


class _Total:
    """The sum of the gradients that reach one variable; in place once the array is its own."""

    __slots__ = ("owned", "value")

    def __init__(self) -> None:
        self.value: Any = None
        self.owned = False

    def add(self, part: np.ndarray | Piece, like: np.ndarray) -> None:
        if isinstance(part, Piece):
            self.own(like)
            self.value[part.key] += part.value
            return
        # under NumPy 1 a 0-d float32 times a Python float is float64
        part = np.asarray(unbroadcast(part, like.shape), like.dtype)
        if self.value is None:
            self.value = part
        elif self.owned:
            self.value += part
        else:
            self.value, self.owned = np.asarray(self.value + part), True

    def own(self, like: np.ndarray) -> np.ndarray:
        if not self.owned:
            self.value = np.zeros_like(like) if self.value is None else np.array(self.value)
            self.owned = True
        return self.value


def _deepest_first(output: Var) -> list[Var]:
    """Everything output depends on, each after its children; iterative, as graphs are deep.

    A parent is less deep than its child, so sorting by depth is a topological order.
    """
    seen = {id(output): output}
    pending = [output]
    while pending:
        for parent, _ in pending.pop().parents:
            if id(parent) not in seen:
                seen[id(parent)] = parent
                pending.append(parent)
    return sorted(seen.values(), key=lambda v: -v.depth)


def backward(output: Var) -> dict[int, np.ndarray]:
    """d output / d leaf for each leaf that a scalar output depends on, keyed by `id(leaf)`.

    Each gradient is an array of its own: none is a view of another.
    """
    if output.shape != ():
        raise InputError("output", output.shape, "is not a scalar", "Sum or average it first.")
    order = _deepest_first(output)
    totals = {id(v): _Total() for v in order}
    totals[id(output)].add(np.ones_like(output.value), output.value)
    leaves = {}
    for v in order:
        total = totals.pop(id(v))
        if not v.parents:
            leaves[id(v)] = total.own(v.value)
        for parent, vjp in v.parents:
            totals[id(parent)].add(vjp(total.value), parent.value)
    return leaves


# --- one rule per operator; a and b are Vars or arrays


def negative(a: Operand) -> Any:
    """d(-a) = -da."""
    return node(-value_of(a), (a, lambda g: -g))


def add(a: Operand, b: Operand) -> Any:
    """d(a + b) = da + db."""
    return node(value_of(a) + value_of(b), (a, lambda g: g), (b, lambda g: g))


def subtract(a: Operand, b: Operand) -> Any:
    """d(a - b) = da - db."""
    return node(value_of(a) - value_of(b), (a, lambda g: g), (b, lambda g: -g))


def multiply(a: Operand, b: Operand) -> Any:
    """d(a b) = b da + a db."""
    x, y = value_of(a), value_of(b)
    return node(x * y, (a, lambda g: g * y), (b, lambda g: g * x))


def divide(a: Operand, b: Operand) -> Any:
    """d(a / b) = da / b - (a / b) db / b."""
    y = value_of(b)
    quotient = value_of(a) / y
    return node(quotient, (a, lambda g: g / y), (b, lambda g: -g * quotient / y))


def power_number(a: Operand, p: float) -> Any:
    """d(a^p) = p a^(p-1) da; 0 for p = 0, also where a = 0."""
    x = value_of(a)
    return node(x**p, (a, lambda g: g * (p * x ** (p - 1)) if p else np.zeros_like(g)))


def power(a: Operand, b: Operand) -> Any:
    """d(a^b) = b a^(b-1) da + a^b log(a) db; where a = 0, db gets 0."""
    x, y = value_of(a), value_of(b)
    result = x**y
    return node(
        result,
        (a, lambda g: g * (y * x ** np.where(y == 0, np.ones_like(y), y - 1))),
        (b, lambda g: g * (result * np.log(np.where(x == 0, np.ones_like(x), x)))),
    )


def matmul(a: Operand, b: Operand) -> Any:
    """d(a b) = da b + a db: the gradients are g b^T and a^T g."""
    x, y = value_of(a), value_of(b)
    return node(_product(x, y), (a, lambda g: _times_b(g, y)), (b, lambda g: _a_times(x, g, y)))


def _product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.ndim > 2 and y.ndim == 2:  # one BLAS call instead of one for each leading index
        return (x.reshape(-1, x.shape[-1]) @ y).reshape(*x.shape[:-1], y.shape[1])
    return x @ y


def _times_b(g: np.ndarray, y: np.ndarray) -> np.ndarray:
    return g[..., None] * y if y.ndim == 1 else _product(g, y.swapaxes(-1, -2))


def _a_times(x: np.ndarray, g: np.ndarray, y: np.ndarray) -> np.ndarray:
    if y.ndim > 2:  # (..., n, k) @ (..., k, m)
        return x.swapaxes(-1, -2) @ g
    flat = x.reshape(-1, x.shape[-1])  # (N, k)
    return flat.T @ g.reshape(len(flat), *y.shape[1:])  # (k,) or (k, m)


def getitem(a: Var, key: Any) -> Any:
    """d(a[key]): g at key, 0 elsewhere. Basic slicing only, so no entry is taken twice."""
    for part in key if isinstance(key, tuple) else (key,):
        if not (part is None or part is ... or isinstance(part, (int, np.integer, slice))):
            raise InputError("index", part, "is not basic slicing", "Use ops.take or ops.pick.")
    return node(a.value[key], (a, lambda g: Piece(key, g)))
