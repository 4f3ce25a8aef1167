"""The arrays of the contract: a framework's array with operators that mean the same everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from lockstep.contract import operators
from lockstep.contract.dtypes import FLOAT
from lockstep.errors import InputError

if TYPE_CHECKING:
    from lockstep.contract.contract_ops import ContractOps


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

    # --- arithmetic

    def __add__(self, other: Any) -> Array:
        return operators.arithmetic(self.ops, "+", self, other)

    def __radd__(self, other: Any) -> Array:
        return operators.arithmetic(self.ops, "+", other, self)

    def __sub__(self, other: Any) -> Array:
        return operators.arithmetic(self.ops, "-", self, other)

    def __rsub__(self, other: Any) -> Array:
        return operators.arithmetic(self.ops, "-", other, self)

    def __mul__(self, other: Any) -> Array:
        return operators.arithmetic(self.ops, "*", self, other)

    def __rmul__(self, other: Any) -> Array:
        return operators.arithmetic(self.ops, "*", other, self)

    def __truediv__(self, other: Any) -> Array:
        return operators.divide(self.ops, self, other)

    def __rtruediv__(self, other: Any) -> Array:
        return operators.divide(self.ops, other, self)

    def __floordiv__(self, other: Any) -> Array:
        return operators.floor_divide(self.ops, self, other)

    def __rfloordiv__(self, other: Any) -> Array:
        return operators.floor_divide(self.ops, other, self)

    def __mod__(self, other: Any) -> Array:
        return operators.remainder(self.ops, self, other)

    def __rmod__(self, other: Any) -> Array:
        return operators.remainder(self.ops, other, self)

    def __pow__(self, other: Any) -> Array:
        return operators.power(self.ops, self, other)

    def __rpow__(self, other: Any) -> Array:
        return operators.power(self.ops, other, self)

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

    # --- comparisons

    def __lt__(self, other: Any) -> Array:
        return operators.compare(self.ops, "<", self, other)

    def __le__(self, other: Any) -> Array:
        return operators.compare(self.ops, "<=", self, other)

    def __gt__(self, other: Any) -> Array:
        return operators.compare(self.ops, ">", self, other)

    def __ge__(self, other: Any) -> Array:
        return operators.compare(self.ops, ">=", self, other)

    def __eq__(self, other: Any) -> Array:  # type: ignore[override]
        return operators.compare(self.ops, "==", self, other)

    def __ne__(self, other: Any) -> Array:  # type: ignore[override]
        return operators.compare(self.ops, "!=", self, other)

    # --- logic, of booleans

    def __and__(self, other: Any) -> Array:
        return operators.logic(self.ops, "&", self, other)

    def __rand__(self, other: Any) -> Array:
        return operators.logic(self.ops, "&", other, self)

    def __or__(self, other: Any) -> Array:
        return operators.logic(self.ops, "|", self, other)

    def __ror__(self, other: Any) -> Array:
        return operators.logic(self.ops, "|", other, self)

    def __xor__(self, other: Any) -> Array:
        return operators.logic(self.ops, "^", self, other)

    def __rxor__(self, other: Any) -> Array:
        return operators.logic(self.ops, "^", other, self)

    def __invert__(self) -> Array:
        return operators.logical_not(self.ops, self)

    def __lshift__(self, other: Any) -> Array:
        raise _no_shifts("<<")

    def __rlshift__(self, other: Any) -> Array:
        raise _no_shifts("<<")

    def __rshift__(self, other: Any) -> Array:
        raise _no_shifts(">>")

    def __rrshift__(self, other: Any) -> Array:
        raise _no_shifts(">>")


def _no_shifts(sign: str) -> InputError:
    return InputError("operator", sign, "is not part of Ops", "Multiply, or divide with //.")
