"""The arrays of the contract: a framework's array with operators that mean the same everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from lockstep.contract import operators
from lockstep.contract.dtypes import FLOAT
from lockstep.errors import InputError

if TYPE_CHECKING:
    from lockstep.contract.contract_ops import ContractOps

    Operator = Callable[["Array", Any], "Array"]


def _of_two(compute: Callable[..., Array], *sign: str) -> tuple[Operator, Operator]:
    """The methods of `array + other` and of `other + array`, by a function of operators.py."""

    def array_left(self: Array, other: Any) -> Array:
        return compute(self.ops, *sign, self, other)

    def array_right(self: Array, other: Any) -> Array:
        return compute(self.ops, *sign, other, self)

    return array_left, array_right


class Array:
    """A framework's own array, the Ops it belongs to and its kind (see dtypes.py)."""

    __slots__ = ("kind", "native", "ops", "shape")
    __array_ufunc__ = None  # NumPy's arrays and numbers leave operators to this class
    __hash__ = None  # type: ignore[assignment]  # == compares entries

    def __init__(self, ops: ContractOps, native: Any, kind: str) -> None:
        self.ops, self.native, self.kind = ops, native, kind
        self.shape = tuple(native.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.ops.precision if self.kind == FLOAT else self.kind)

    def __len__(self) -> int:
        if not self.shape:
            raise InputError("len", "an array without axes", "has no length", "Use its shape.")
        return self.shape[0]

    def __iter__(self) -> Iterator[Array]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<array {self.dtype} {self.shape}>"

    def __getattr__(self, name: str) -> Any:
        remedy = f"use ops.{name}(x)" if hasattr(self.ops, name) else "see lockstep/ops.py"
        raise AttributeError(f"an array has no {name!r}: {remedy}")

    # --- out of the framework: refused inside a net, where there are no numbers yet

    def __array__(self, *args: Any, **named: Any) -> np.ndarray:
        return self.ops.to_numpy(self)

    def __float__(self) -> float:
        return float(self.ops.to_numpy(self))

    def __int__(self) -> int:
        return int(self.ops.to_numpy(self))

    def __bool__(self) -> bool:
        return bool(self.ops.to_numpy(self))

    # --- indices

    def __getitem__(self, key: Any) -> Array:
        return operators.index(self.ops, self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        remedy = "Make a new one: ops.where, ops.concat, ops.stack."
        raise InputError("operator", "x[...] = ...", "arrays are not written into", remedy)

    # --- operators; those of two operands with either on the left

    __add__, __radd__ = _of_two(operators.arithmetic, "+")
    __sub__, __rsub__ = _of_two(operators.arithmetic, "-")
    __mul__, __rmul__ = _of_two(operators.arithmetic, "*")
    __truediv__, __rtruediv__ = _of_two(operators.divide)
    __floordiv__, __rfloordiv__ = _of_two(operators.floor_divide)
    __mod__, __rmod__ = _of_two(operators.remainder)
    __pow__, __rpow__ = _of_two(operators.power)
    __and__, __rand__ = _of_two(operators.logic, "&")
    __or__, __ror__ = _of_two(operators.logic, "|")
    __xor__, __rxor__ = _of_two(operators.logic, "^")
    __lshift__, __rlshift__ = _of_two(operators.no_shift, "<<")
    __rshift__, __rrshift__ = _of_two(operators.no_shift, ">>")
    __lt__ = _of_two(operators.compare, "<")[0]
    __le__ = _of_two(operators.compare, "<=")[0]
    __gt__ = _of_two(operators.compare, ">")[0]
    __ge__ = _of_two(operators.compare, ">=")[0]
    __eq__ = _of_two(operators.compare, "==")[0]  # type: ignore[assignment]
    __ne__ = _of_two(operators.compare, "!=")[0]  # type: ignore[assignment]

    def __matmul__(self, other: Any) -> Array:
        return self.ops.matmul(self, other)

    def __rmatmul__(self, other: Any) -> Array:
        return self.ops.matmul(other, self)

    def __neg__(self) -> Array:
        return operators.negative(self.ops, self)

    def __pos__(self) -> Array:
        return self

    def __abs__(self) -> Array:
        return self.ops.abs(self)

    def __invert__(self) -> Array:
        return operators.logical_not(self.ops, self)
