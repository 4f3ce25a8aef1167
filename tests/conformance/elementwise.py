"""Cases for what goes in and out, functions of entries, operators, and reductions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from . import references as ref
from .case import BROADCAST, HUGE, TIES, Case, draw, exact, method, plain, positive, whole


def in_and_out() -> Iterator[Case]:
    wholes = {"uint8": whole(0, 7, 255, dtype="uint8"), "int32": whole(-3, 9)}
    truths = {"bool": np.array([True, False])}
    floats = {"floats": draw(2, 3), "number": exact(0.1)}
    for note, x in (floats | wholes | truths).items():
        # the suite itself calls asarray on every input, and to_numpy on every result
        yield Case("asarray", note, {"x": x}, plain(_itself), _itself)
        yield Case("to_numpy", note, {"x": x}, _there_and_back, _itself)
    for note, x in (wholes | truths).items():
        yield Case("floating", note, {"x": x}, method("floating"), entries(float))
    yield Case(
        "zeros",
        "added",
        {"x": draw(2, 3)},
        lambda ops, x: x + ops.zeros((2, 3)) + ops.zeros([3]),
        _itself,
        ("x",),
    )


def _itself(x: np.ndarray) -> np.ndarray:
    return x


def _there_and_back(ops: Any, x: Any) -> Any:
    return ops.asarray(ops.to_numpy(x))


def entries(function: Callable[..., float]) -> Callable[..., np.ndarray]:
    """The expected array, from a function of one entry of each input."""
    return lambda **inputs: ref.entrywise(function, *inputs.values())


def one_argument() -> Iterator[Case]:
    functions: dict[str, tuple[Callable[[float], float], Callable[..., np.ndarray]]] = {
        "exp": (math.exp, draw),
        "log": (math.log, positive),
        "sqrt": (math.sqrt, positive),
        "abs": (abs, draw),
        "tanh": (math.tanh, draw),
        "sigmoid": (ref.sigmoid, draw),
        "relu": (lambda x: max(x, 0.0), draw),
    }
    shapes = {"matrix": (3, 4), "scalar": (), "size 1": (1, 3, 1)}
    for op, (function, inputs) in functions.items():
        for note, shape in shapes.items():
            x = {"x": inputs(*shape)}
            yield Case(op, note, x, method(op), entries(function), ("x",))
        if op in ("exp", "tanh", "sigmoid"):
            wide = {"x": np.linspace(-6.1, 6.1, 50)}
            yield Case(op, "wide", wide, method(op), entries(function), ("x",))
        if op in ("abs", "relu", "tanh", "sigmoid"):
            for note, hard in {"zeros": TIES, "huge": HUGE}.items():
                yield Case(op, note, {"x": hard}, method(op), entries(function), ("x",), kink=True)


def two_arguments() -> Iterator[Case]:
    for op, function in {"maximum": max, "minimum": min}.items():
        for note, (a, b) in BROADCAST.items():
            inputs = {"a": draw(*a), "b": draw(*b, seed=1)}
            yield Case(op, note, inputs, method(op), entries(function), ("a", "b"))
        number = {"a": draw(3, 4)}
        expect = entries(lambda a, function=function: function(a, 0.25))
        yield Case(op, "number", number, method(op, 0.25), expect, ("a",))


def where() -> Iterator[Case]:
    for note, (a, b) in BROADCAST.items():
        yield Case(
            "where",
            note,
            {"a": draw(*a), "b": draw(*b, seed=1), "c": draw(3, 4, seed=2)},
            lambda ops, a, b, c: ops.where(c > 0.0, a, b),
            entries(lambda a, b, c: a if c > 0 else b),
            ("a", "b"),
        )
    numbers: dict[str, tuple[Callable[..., Any], Callable[..., float]]] = {
        "array, number": (
            lambda ops, a: ops.where(a > 0.5, a, 0.5),
            lambda a: a if a > 0.5 else 0.5,
        ),
        "whole number, array": (
            lambda ops, a: ops.where(a < 0.5, 0, a),
            lambda a: 0.0 if a < 0.5 else a,
        ),
        "two numbers": (lambda ops, a: ops.where(a > 0.0, 1.0, -1.0) * a, abs),
    }
    for note, (call, function) in numbers.items():
        yield Case("where", note, {"a": draw(3, 4)}, call, entries(function), ("a",))


def operators() -> Iterator[Case]:
    functions = {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": operator.truediv,
        "**": operator.pow,
    }
    for sign, f in functions.items():
        for note, (a, b) in BROADCAST.items():
            inputs = {"a": positive(*a), "b": positive(*b, seed=1)}
            yield Case("operator", f"{sign} {note}", inputs, plain(f), entries(f), ("a", "b"))
        for number in (3, 0.1):
            mixed: dict[str, Callable[[Any], Any]] = {
                f"{sign} {number}": lambda a, f=f, n=number: f(a, n),
                f"{number} {sign}": lambda a, f=f, n=number: f(n, a),
            }
            for note, g in mixed.items():
                yield Case("operator", note, {"a": positive(3, 4)}, plain(g), entries(g), ("a",))
    for note, g in {"neg": operator.neg, "** 2": lambda a: a**2, "** 0": lambda a: a**0}.items():
        inputs = {"a": exact([-1.5, 0, 2])}
        yield Case("operator", f"{note} at 0", inputs, plain(g), entries(g), ("a",))


def comparisons() -> Iterator[Case]:
    for f in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
        for note, b in {"array": TIES[::-1], "scalar": exact(0.0)}.items():
            yield Case(
                "operator",
                f"{f.__name__} {note}",
                {"a": TIES, "b": b},
                lambda ops, a, b, f=f: ops.floating(f(a, b)) * a,
                entries(lambda a, b, f=f: a if f(a, b) else 0.0),
                ("a",),
                kink=True,
            )


def reductions() -> Iterator[Case]:
    ways: dict[str, tuple[Any, tuple[int, ...], bool]] = {
        "all": (None, (0, 1, 2), False),
        "first": (0, (0,), True),
        "last": (-1, (-1,), False),
        "two": ((0, 2), (0, 2), True),
        "size 1": ((1, -1), (1, 2), False),
    }
    for op, function in {"sum": math.fsum, "mean": ref.average}.items():
        for note, (axis, axes, keep) in ways.items():
            x = {"x": draw(3, 4, 1) if note == "size 1" else draw(2, 3, 4)}
            call = method(op, axis=axis, keepdims=keep)
            yield Case(
                op,
                note,
                x,
                call,
                partial(ref.reduced, function=function, axes=axes, keepdims=keep),
                ("x",),
            )


def largest() -> Iterator[Case]:
    for axis in (0, -1):
        for keep in (False, True):
            note, call = f"axis {axis} keep {keep}", method("max", axis=axis, keepdims=keep)
            expect = partial(ref.reduced, function=max, axes=(axis,), keepdims=keep)
            yield Case("max", note, {"x": draw(2, 3, 4)}, call, expect, ("x",))
            yield Case("max", f"ties {note}", {"x": TIES}, call, expect, ("x",), kink=True)
        expect = partial(ref.reduced, function=_first_largest, axes=(axis,), keepdims=False)
        for note, x in {"": draw(2, 3, 4), "ties": TIES}.items():
            yield Case("argmax", f"axis {axis} {note}", {"x": x}, method("argmax", axis), expect)


def _first_largest(row: list[float]) -> int:
    return row.index(max(row))
