"""Cases for what mixes with what: whole numbers, booleans and floats, in operators and functions.

Expected values are NumPy's own on int64 and float64, into which every input is taken first.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .case import Case, draw, whole

FLOATS = draw(2, 3) + 3.0
BYTES = whole([0, 7, 255], [128, 200, 1], dtype="uint8")
WHOLES = whole([-7, 3, 0], [2, -1, 9])
LONGS = whole([2, -3, 5], [1, 4, -2], dtype="int64")
TRUTHS = np.array([[True, False, True], [True, True, False]])
INPUTS = {"float": FLOATS, "uint8": BYTES, "int32": WHOLES, "int64": LONGS, "bool": TRUTHS}
NUMBERS: dict[str, Any] = {"int": 128, "float": 0.1, "bool": True}


def _wide(x: Any) -> np.ndarray:
    """As the contract computes: whole numbers and booleans in whole numbers that do not wrap."""
    x = np.asarray(x)
    return x if x.dtype.kind == "f" else x.astype(np.int64)


def _case(note: str, inputs: dict[str, Any], f: Callable[..., Any], expect: Any = None) -> Case:
    grad = tuple(name for name, x in inputs.items() if np.asarray(x).dtype.kind == "f")

    def expected(**given: Any) -> np.ndarray:
        return np.asarray((expect or f)(*map(_wide, given.values())))

    def call(ops: Any, **given: Any) -> Any:
        return f(*given.values())

    return Case("operator", note, inputs, call, expected, grad)


def arithmetic() -> Iterator[Case]:
    signs = {"+": operator.add, "-": operator.sub, "*": operator.mul}
    for sign, f in signs.items():
        for left, a in INPUTS.items():
            for right, b in INPUTS.items():
                yield _case(f"{left} {sign} {right}", {"a": a, "b": b}, f)
            for right, number in NUMBERS.items():
                yield _case(
                    f"{left} {sign} number {right}", {"a": a}, lambda a, f=f, n=number: f(a, n)
                )
                yield _case(
                    f"number {right} {sign} {left}", {"a": a}, lambda a, f=f, n=number: f(n, a)
                )
    for left, a in INPUTS.items():
        for right, b in {"float": FLOATS, "int64": LONGS}.items():
            yield _case(f"{left} / {right}", {"a": a, "b": b}, operator.truediv)
        yield _case(f"{left} / 255", {"a": a}, lambda a: a / 255)
        yield _case(f"-{left}", {"a": a}, operator.neg)
    yield _case("(uint8 - 128.0) / 64", {"a": BYTES}, lambda a: (a - 128.0) / 64)
    yield _case("uint8 * NumPy's array", {"a": BYTES}, lambda a: a * FLOATS)
    yield _case("NumPy's array - uint8", {"a": BYTES}, lambda a: LONGS - a)
    yield _case("NumPy's number * uint8", {"a": BYTES}, lambda a: np.float32(0.5) * a)


def divisions() -> Iterator[Case]:
    for sign, f in {"//": operator.floordiv, "%": operator.mod}.items():
        for left, a in {"uint8": BYTES, "int32": WHOLES, "bool": TRUTHS}.items():
            yield _case(f"{left} {sign} int64", {"a": a, "b": LONGS}, f)
            yield _case(f"{left} {sign} 3", {"a": a}, lambda a, f=f: f(a, 3))
            yield _case(f"{left} {sign} -3", {"a": a}, lambda a, f=f: f(a, -3))
        yield _case(f"7 {sign} int64", {"a": LONGS}, lambda a, f=f: f(7, a))
    for n in (0, 1, 2, 5):
        yield _case(f"int32 ** {n}", {"a": WHOLES}, lambda a, n=n: a**n)
    positive = {"a": FLOATS, "b": LONGS}
    yield _case("uint8 ** 0.5", {"a": BYTES[:, 1:]}, lambda a: a**0.5)
    yield _case("float ** int64", positive, lambda a, b: a**b)
    yield _case("2.0 ** int32", {"a": WHOLES}, lambda a: 2.0**a)
    yield _case("float ** -1", {"a": FLOATS}, lambda a: a**-1)


def truth() -> Iterator[Case]:
    comparisons = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
    for f in comparisons:
        for left, a in {"uint8": BYTES, "int32": WHOLES, "bool": TRUTHS}.items():
            for right, b in {"float": FLOATS * 40, "int64": LONGS, "bool": TRUTHS}.items():
                inputs = {"a": a, "b": b}
                name = f"{left} {f.__name__} {right}"
                yield Case(
                    "operator",
                    name,
                    inputs,
                    lambda ops, a, b, f=f: f(a, b),
                    lambda a, b, f=f: f(_wide(a), _wide(b)),
                )
        yield _case(f"uint8 {f.__name__} 300", {"a": BYTES}, lambda a, f=f: f(a, 300))
        yield _case(f"uint8 {f.__name__} 0.5", {"a": BYTES}, lambda a, f=f: f(a, 0.5))
    both = {"a": TRUTHS, "b": ~TRUTHS[::-1]}
    logic: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
        "a & b": (lambda a, b: a & b, both),
        "a | b": (lambda a, b: a | b, both),
        "a ^ b": (lambda a, b: a ^ b, both),
        "~a": (lambda a: ~a, {"a": TRUTHS}),
        "a & True": (lambda a: a & True, {"a": TRUTHS}),
    }
    for note, (f, inputs) in logic.items():
        yield Case("operator", note, inputs, lambda ops, f=f, **i: f(*i.values()), f)


def functions() -> Iterator[Case]:
    """Functions of whole numbers and booleans."""
    for note, x in {"uint8": BYTES, "int32": WHOLES, "bool": TRUTHS}.items():
        inputs = {"x": x}
        for op in ("exp", "tanh", "sigmoid", "log_softmax"):
            small = {"x": x % 3 if note == "uint8" else x}
            yield Case(op, note, small, _method(op), _by_formula(op))
        table: dict[str, tuple[Any, Any]] = {
            "abs": (lambda ops, x: ops.abs(x), lambda x: np.abs(_wide(x))),
            "relu": (lambda ops, x: ops.relu(x), lambda x: np.maximum(_wide(x), 0)),
            "sum": (lambda ops, x: ops.sum(x, axis=-2), lambda x: _wide(x).sum(-2)),
            "mean": (lambda ops, x: ops.mean(x, -1, True), lambda x: x.mean(-1, keepdims=True)),
            "max": (lambda ops, x: ops.max(x, axis=0), lambda x: _wide(x).max(0)),
            "argmax": (lambda ops, x: ops.argmax(x) * 0.5, lambda x: x.argmax(-1) * 0.5),
            "maximum": (lambda ops, x: ops.maximum(x, 2), lambda x: np.maximum(_wide(x), 2)),
            "minimum": (lambda ops, x: ops.minimum(x, 0.1), lambda x: np.minimum(x, 0.1)),
            "where": (lambda ops, x: ops.where(x, 1, 0.5), lambda x: np.where(x, 1, 0.5)),
            "reshape": (lambda ops, x: ops.reshape(x, (3, 2)), lambda x: x.reshape(3, 2)),
            "transpose": (lambda ops, x: ops.transpose(x, (-1, 0)), lambda x: x.T),
            "take": (lambda ops, x: ops.take(x, [1, -1]), lambda x: x[[1, 1]]),
            "pick": (lambda ops, x: ops.pick(x, [-1, 0]), lambda x: _wide(x)[[0, 1], [2, 0]]),
            "stop_gradient": (lambda ops, x: ops.stop_gradient(x), lambda x: x),
            "matmul": (lambda ops, x: ops.matmul(x, WHOLES.T), lambda x: x @ (WHOLES.T * 1.0)),
            "concat": (lambda ops, x: ops.concat([x, FLOATS]), lambda x: np.vstack([x, FLOATS])),
            "stack": (lambda ops, x: ops.stack([x, LONGS]), lambda x: np.stack([_wide(x), LONGS])),
        }  # fmt: skip
        for op, (call, expect) in table.items():
            yield Case(op, f"of {note}", inputs, call, expect)
        yield Case(
            "operator",
            f"{note}[:, ::-1]",
            inputs,
            lambda ops, x: x[:, ::-1],
            lambda x: x[:, ::-1],
        )
    images = {"x": whole(*range(16), dtype="uint8").reshape(1, 1, 4, 4)}
    for op, f in {"max_pool2d": np.max, "avg_pool2d": np.mean}.items():
        yield Case(
            op,
            "uint8",
            images,
            lambda ops, x, op=op: getattr(ops, op)(x, 2),
            lambda x, f=f: f(x.reshape(1, 1, 2, 2, 2, 2), axis=(3, 5)) * 1.0,
        )


def _method(op: str) -> Callable[..., Any]:
    return lambda ops, x: getattr(ops, op)(x)


def _by_formula(op: str) -> Callable[..., Any]:
    formulas: dict[str, Callable[[np.ndarray], Any]] = {
        "exp": np.exp,
        "tanh": np.tanh,
        "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "log_softmax": lambda x: x - np.log(np.exp(x).sum(-1, keepdims=True)),
    }
    return lambda x: formulas[op](x.astype(np.float64))


def indices() -> Iterator[Case]:
    """Slices that go backwards, negative indices, axes counted from the last."""
    x = {"x": draw(4, 3, 5)}
    keys: dict[str, Any] = {
        "::-1": slice(None, None, -1),
        ":,::-1": (slice(None), slice(None, None, -1)),
        "3:0:-2,...,::-3": (slice(3, 0, -2), ..., slice(None, None, -3)),
        "-1,None,-3:": (-1, None, slice(-3, None)),
        "...,None,1:10:2": (..., None, slice(1, 10, 2)),
        "np.int64(2)": np.int64(2),
        "-4,-1,-5": (-4, -1, -5),
    }
    for note, key in keys.items():
        call, expect = (lambda ops, x, key=key: x[key]), (lambda x, key=key: x[key])
        yield Case("operator", f"x[{note}]", x, call, expect, ("x",))
    rows: dict[str, Any] = {"-1": -1, "list": [0, -1, 2], "nested": [[-4, 3], [0, -2]]}
    for note, at in rows.items():
        taken = {"x": draw(4, 3)}
        call, expect = (lambda ops, x, at=at: ops.take(x, at)), (lambda x, at=at: x[np.array(at)])
        yield Case("take", f"negative {note}", taken, call, expect, ("x",))
        array = taken | {"i": np.array(at, np.int32)}
        yield Case("take", f"negative array {note}", array, _take, lambda x, i: x[i], ("x",))
    picked = {"x": draw(3, 4), "i": whole(-1, 0, -4)}
    yield Case("pick", "negative", picked, _pick, lambda x, i: x[np.arange(3), i], ("x",))
    yield Case(
        "one_hot", "outside", {"i": whole(-1, 0, 3)}, _hot, lambda i: np.eye(3, k=-1) * [1, 0, 0]
    )
    for axes in ((-1, 0, 1), (0, -1, -2)):
        call, expect = (
            (lambda ops, x, a=axes: ops.transpose(x, a)),
            (lambda x, a=axes: x.transpose(a)),
        )
        yield Case("transpose", f"negative {axes}", x, call, expect, ("x",))
    for axis in (-2, None, (0, -1), (-1, -2)):
        for keep in (False, True):
            call = lambda ops, x, a=axis, k=keep: ops.max(x, axis=a, keepdims=k)  # noqa: E731
            expect = lambda x, a=axis, k=keep: x.max(axis=a, keepdims=k)  # noqa: E731
            yield Case("max", f"axes {axis} {keep}", x, call, expect, ("x",))
    for axis in (-2, None):
        call, expect = (lambda ops, x, a=axis: ops.argmax(x, a)), (lambda x, a=axis: x.argmax(a))
        yield Case("argmax", f"axes {axis}", x, call, expect)
    shapes = [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2)), ((2, 3, 4), (2, 4, 5))]
    shapes += [((3, 4), (2, 4, 5)), ((2, 3, 4), (1, 4, 5)), ((2, 1, 3, 4), (3, 4, 5))]
    shapes += [((2, 3, 4), (4,)), ((4,), (2, 4, 5))]
    for a, b in shapes:
        inputs = {"a": draw(*a), "b": draw(*b, seed=1)}
        call, expect = (lambda ops, a, b: a @ b), (lambda a, b: a @ b)
        yield Case("operator", f"@ of {a} and {b}", inputs, call, expect, ("a", "b"))
    row, inputs = draw(3), {"b": draw(3, 4)}
    call, expect = (lambda ops, b: row @ b), (lambda b: row @ b)
    yield Case("operator", "NumPy's array @", inputs, call, expect, ("b",))


def _take(ops: Any, x: Any, i: Any) -> Any:
    return ops.take(x, i)


def _pick(ops: Any, x: Any, i: Any) -> Any:
    return ops.pick(x, i)


def _hot(ops: Any, i: Any) -> Any:
    return ops.one_hot(i, 3)
