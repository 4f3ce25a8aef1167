"""What the operators between arrays and numbers mean: which dtype they are computed in.

One operand at least is an array of the contract; the other may be one too, a number, or an array
of NumPy's.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from lockstep.contract.dtypes import BOOL, FLOAT, INT, LARGEST, common
from lockstep.contract.indexing import selection
from lockstep.contract.shape_rules import broadcast
from lockstep.errors import InputError

if TYPE_CHECKING:
    from lockstep.contract.array import Array
    from lockstep.contract.contract_ops import ContractOps

SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def kind(x: Any) -> str:
    """The kind of an operand; a number's is that of Python's own: bool, int or float."""
    if isinstance(x, bool):
        return BOOL
    return INT if isinstance(x, int) else FLOAT if isinstance(x, float) else x.kind


def operands(ops: ContractOps, sign: str, a: Any, b: Any) -> tuple[Any, Any]:
    """Both as arrays of the contract or Python's numbers, of shapes that broadcast."""
    a, b = (x if isinstance(x, ops.array_type) else _lifted(ops, sign, x) for x in (a, b))
    if isinstance(a, ops.array_type) and isinstance(b, ops.array_type) and a.shape != b.shape:
        broadcast(a.shape, b.shape)
    return a, b


def _lifted(ops: ContractOps, sign: str, x: Any) -> Any:
    if isinstance(x, bool | np.bool_):
        return bool(x)
    if isinstance(x, int | np.integer):
        if not -LARGEST - 1 <= x <= LARGEST:
            problem = "does not fit into 32 bits, which whole numbers are held in"
            raise InputError(f"operator {sign}", int(x), problem, f"Write {float(x)}.")
        return int(x)
    if isinstance(x, float | np.floating):
        return float(x)
    if isinstance(x, np.ndarray):
        return ops.asarray(x)
    problem = "is neither an array nor a number"
    raise InputError(f"operator {sign}", x, problem, "Give it to ops.asarray first.")


def cast(ops: ContractOps, x: Any, to: str) -> Any:
    """The framework's own array, or the number, of floats or of whole numbers."""
    if not isinstance(x, ops.array_type):
        return float(x) if to == FLOAT else int(x)
    if x.kind == to:
        return x.native
    return ops.kernels.floating(x.native) if to == FLOAT else ops.kernels.whole(x.native)


def arithmetic(ops: ContractOps, sign: str, a: Any, b: Any) -> Array:
    """`+ - *`: floats as soon as one is floating, else whole numbers."""
    a, b = operands(ops, sign, a, b)
    to = common((kind(a), kind(b)))
    return ops.wrap(SIGNS[sign](cast(ops, a, to), cast(ops, b, to)), to)


def divide(ops: ContractOps, a: Any, b: Any) -> Array:
    """`/` is of floats, whatever it is given."""
    a, b = operands(ops, "/", a, b)
    return ops.wrap(cast(ops, a, FLOAT) / cast(ops, b, FLOAT), FLOAT)


def negative(ops: ContractOps, x: Array) -> Array:
    to = common((x.kind,))
    return ops.wrap(-cast(ops, x, to), to)


def compare(ops: ContractOps, sign: str, a: Any, b: Any) -> Array:
    a, b = operands(ops, sign, a, b)
    to = common((kind(a), kind(b)))
    return ops.wrap(SIGNS[sign](cast(ops, a, to), cast(ops, b, to)), BOOL)


# --- whole numbers only


def floor_divide(ops: ContractOps, a: Any, b: Any) -> Array:
    """`//` of whole numbers, towards minus infinity."""
    a, b = _whole(ops, "//", a, b)
    return ops.wrap(ops.kernels.floor_divide(a, b), INT)


def remainder(ops: ContractOps, a: Any, b: Any) -> Array:
    """`%` of whole numbers, with the sign of the divisor: a - (a // b) * b."""
    a, b = _whole(ops, "%", a, b)
    return ops.wrap(a - ops.kernels.floor_divide(a, b) * b, INT)


def _whole(ops: ContractOps, sign: str, a: Any, b: Any) -> tuple[Any, Any]:
    """Both as the framework's own arrays of whole numbers."""
    a, b = operands(ops, sign, a, b)
    if FLOAT in (kind(a), kind(b)):
        problem = "is for whole numbers: frameworks round floats differently there"
        raise InputError("operator", sign, problem, "Divide with /, or use whole numbers.")
    if not isinstance(b, ops.array_type) and b == 0:
        raise InputError(f"operator {sign}", 0, "divides by zero", "Give another divisor.")
    left, right = (x if isinstance(x, ops.array_type) else ops.asarray(x) for x in (a, b))
    return cast(ops, left, INT), cast(ops, right, INT)


# --- powers


def power(ops: ContractOps, a: Any, b: Any) -> Array:
    a, b = operands(ops, "**", a, b)
    if kind(a) != FLOAT and kind(b) != FLOAT:
        return _whole_power(ops, a, b)
    if isinstance(b, ops.array_type):
        return ops.wrap(cast(ops, a, FLOAT) ** cast(ops, b, FLOAT), FLOAT)
    if b == 0:  # some frameworks' gradient of x ** 0 is 0 * x ** -1
        return ops.ones(a.shape)
    if isinstance(b, float) and float(np.float32(b)) != b:  # paddle would round it to float32
        return ops.wrap(cast(ops, a, FLOAT) ** ops.asarray(b).native, FLOAT)
    return ops.wrap(cast(ops, a, FLOAT) ** b, FLOAT)


def _whole_power(ops: ContractOps, a: Any, n: Any) -> Array:
    """a * a * ...: n a number of Python's, at least 0."""
    if isinstance(n, ops.array_type) or n < 0:
        given = "an array of whole numbers" if isinstance(n, ops.array_type) else n
        problem = "is no exponent of whole numbers, whose powers may not be whole"
        raise InputError("operator **", given, problem, "Use ops.floating(x) ** n.")
    base = a = ops.wrap(cast(ops, a, INT), INT)
    result = None
    while n:  # by squares
        if n & 1:
            result = base if result is None else result * base
        n >>= 1
        base = base * base if n else base
    return arithmetic(ops, "+", arithmetic(ops, "*", a, 0), 1) if result is None else result


# --- booleans only


def logic(ops: ContractOps, sign: str, a: Any, b: Any) -> Array:
    """`& | ^` of booleans."""
    a, b = operands(ops, sign, a, b)
    for x in (a, b):
        _require_boolean(sign, kind(x))
    left, right = (cast(ops, x, INT) for x in (a, b))  # not every framework has its own
    if sign == "&":
        return ops.wrap(left * right > 0, BOOL)
    return ops.wrap(left + right > 0 if sign == "|" else left != right, BOOL)


def logical_not(ops: ContractOps, x: Array) -> Array:
    _require_boolean("~", x.kind)
    return ops.wrap(cast(ops, x, INT) == 0, BOOL)


def _require_boolean(sign: str, kind: str) -> None:
    if kind != BOOL:
        remedy = f"Compare first, as in (x > 0) {sign} (y > 0)."
        raise InputError(f"operator {sign}", kind, "is for booleans", remedy)


def no_shift(ops: ContractOps, sign: str, a: Any, b: Any) -> Array:
    raise InputError("operator", sign, "is not part of Ops", "Multiply, or divide with //.")


# --- indices


def index(ops: ContractOps, x: Array, key: Any) -> Array:
    chosen, kernels, native = selection(key, x.shape), ops.kernels, x.native
    parts = list(zip(chosen.slices, x.shape, strict=True))
    shape = tuple(len(range(*part.indices(size))) for part, size in parts)
    if shape != x.shape:
        native = native[tuple(_plain(part, size) for part, size in parts)]
    for axis in chosen.flipped:
        native = kernels.flip(native, axis)
    if shape != chosen.shape:
        native = kernels.reshape(native, chosen.shape)
    return ops.wrap(native, x.kind)


def _plain(part: slice, size: int) -> slice:
    """The slice with its bounds left out where they are those of the axis: `:` is the fastest."""
    start, stop = part.start or None, None if part.stop >= size else part.stop
    return slice(start, stop, None if part.step == 1 else part.step)
