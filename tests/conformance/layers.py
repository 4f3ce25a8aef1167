"""Cases for shapes, selection, layers and control."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from . import references as ref
from .case import TIED_WINDOWS, Case, draw, exact, method, whole


def shapes() -> Iterator[Case]:
    x = {"x": draw(2, 3, 4)}
    for shape in ((6, 4), (4, -1), (2, 1, 12), (24,)):
        expect = partial(ref.reshaped, shape=shape)
        yield Case("reshape", str(shape), x, method("reshape", shape), expect, ("x",))
    for axes in ((2, 0, 1), (0, 2, 1), (0, 1, 2)):
        expect = partial(ref.transposed, axes=axes)
        yield Case("transpose", str(axes), x, method("transpose", axes), expect, ("x",))


def joining() -> Iterator[Case]:
    for axis in (0, 1, -1):
        yield Case(
            "concat",
            f"axis {axis}",
            {"a": draw(2, 3), "b": draw(*((5, 3) if axis == 0 else (2, 1)), seed=1)},
            lambda ops, a, b, axis=axis: ops.concat([a, b, a], axis),
            lambda a, b, axis=axis: ref.joined(a, b, a, axis=axis),
            ("a", "b"),
        )
        yield Case(
            "stack",
            f"axis {axis}",
            {"a": draw(2, 3), "b": draw(2, 3, seed=1)},
            lambda ops, a, b, axis=axis: ops.stack([a, b, a], axis=axis),
            lambda a, b, axis=axis: ref.stacked(a, b, a, axis=axis),
            ("a", "b"),
        )


def slices() -> Iterator[Case]:
    keys: dict[str, Any] = {
        "0": 0,
        "-1": -1,
        "1:3": slice(1, 3),
        "::2": slice(None, None, 2),
        "...,1": (..., 1),
        ":,None": (slice(None), None),
        "1,:,1:": (1, slice(None), slice(1, None)),
        ":,-2:,...": (slice(None), slice(-2, None), ...),
        "0,1,2": (0, 1, 2),
    }
    for note, key in keys.items():
        yield Case(
            "operator",
            f"[{note}]",
            {"x": draw(4, 3, 3)},
            lambda ops, x, key=key: 2.0 * x[key],
            lambda x, key=key: 2.0 * x[key],
            ("x",),
        )


def overlapping() -> Iterator[Case]:
    """Slices that share entries, and an array used whole as well: their gradients add up."""
    yield Case(
        "operator",
        "overlapping slices",
        {"x": draw(4, 3)},
        lambda ops, x: x[:3] * x[1:] + x[0] * x[:-1] - ops.sum(x),
        lambda x: np.array([x[i] * x[i + 1] + x[0] * x[i] - x.sum() for i in range(3)]),
        ("x",),
    )


def selection() -> Iterator[Case]:
    repeated = {"x": draw(4, 3), "indices": whole(3, 0, 0, 2)}
    nested = {"x": draw(4, 2, 3), "indices": whole([1, 1, 3], [0, 1, 2])}
    vector = {"x": draw(5), "indices": whole(4, 4, 0, dtype="int64")}
    for note, inputs in {"repeated": repeated, "nested": nested, "int64": vector}.items():
        yield Case("take", note, inputs, method("take"), ref.rows_of, ("x",))
    for note, indices in {
        "row": whole(2, 0, 1),
        "uint8": whole(2, 0, 1, dtype="uint8"),
        "two axes": whole([2, 0], [1, 1], [3, 0]),
    }.items():
        picks = {"x": draw(*indices.shape, 4), "indices": indices}
        yield Case("pick", note, picks, method("pick"), ref.picked, ("x",))
        expect = partial(ref.one_hot, depth=5)
        yield Case("one_hot", note, {"indices": indices}, method("one_hot", 5), expect)


def products() -> Iterator[Case]:
    for note, a in {"2-D": draw(3, 4), "3-D": draw(2, 3, 4), "size 1": draw(1, 4)}.items():
        inputs = {"a": a, "b": draw(4, 1 if note == "size 1" else 5)}
        yield Case("matmul", note, inputs, method("matmul"), ref.matmul, ("a", "b"))
        yield Case("operator", f"@ {note}", inputs, lambda ops, a, b: a @ b, ref.matmul, ("a", "b"))
    for note, x in {"row": draw(4), "matrix": draw(3, 4), "cube": draw(2, 3, 5)}.items():
        yield Case("log_softmax", note, {"x": x}, method("log_softmax"), ref.log_softmax, ("x",))
    yield Case(
        "log_softmax",
        "huge",
        {"x": exact([[800, 0], [-1, -801]])},
        method("log_softmax"),
        lambda x: (
            x - x[:, :1]
        ),  # exp(800) overflows, exp(-800) is 0: the log of the sum is the largest
        ("x",),
    )


def convolutions() -> Iterator[Case]:
    sizes = {
        "one channel": ((2, 1, 5, 5), (3, 1, 3, 3), 0),
        "lenet": ((2, 1, 8, 8), (3, 1, 5, 5), 2),
        "channels": ((2, 3, 6, 6), (4, 3, 3, 3), 0),
        "oblong": ((1, 2, 5, 7), (2, 2, 2, 3), 2),
        "1x1": ((3, 2, 4, 4), (2, 2, 1, 1), 0),
        "whole image": ((2, 2, 3, 3), (5, 2, 3, 3), 0),
    }
    for note, (x, w, padding) in sizes.items():
        inputs = {"x": draw(*x), "w": draw(*w), "b": draw(w[0])}
        call, expect = method("conv2d", padding=padding), partial(ref.conv2d, padding=padding)
        yield Case("conv2d", note, inputs, call, expect, ("x", "w", "b"))
        yield Case("conv2d", f"{note} of data", inputs, call, expect, ("w", "b"))


def pooling() -> Iterator[Case]:
    sizes = {
        "even": (draw(2, 3, 4, 6), 2),
        "remainder": (draw(2, 1, 5, 7), 2),
        "thirds": (draw(1, 2, 7, 6), 3),
        "size 1": (draw(1, 2, 3, 3), 1),
    }
    for op, function in {"max_pool2d": max, "avg_pool2d": ref.average}.items():
        for note, (x, size) in sizes.items():
            expect = partial(ref.pooled, function=function, size=size)
            yield Case(op, note, {"x": x}, method(op, size), expect, ("x",))
        expect, ties = partial(ref.pooled, function=function, size=2), TIED_WINDOWS[None, None]
        yield Case(op, "ties", {"x": ties}, method(op, 2), expect, ("x",), kink=True)


def scans() -> Iterator[Case]:
    inputs = {"h": draw(2, 3), "w": draw(3, 3), "xs": draw(5, 2, 3)}
    one_step = inputs | {"xs": inputs["xs"][:1]}
    yield Case("scan", "ys", inputs, _outputs, ref.recurrence, ("h", "w", "xs"))
    yield Case("scan", "ys of data", inputs, _outputs, ref.recurrence, ("w",))
    yield Case("scan", "one step", one_step, _outputs, ref.recurrence, ("h", "w", "xs"))
    yield Case("scan", "carry", inputs, _last, lambda **i: ref.recurrence(**i)[-1], tuple(inputs))


def _scan(ops: Any, h: Any, w: Any, xs: Any) -> tuple[Any, Any]:
    def step(h: Any, x: Any) -> tuple[Any, Any]:
        h = ops.tanh(x + h @ w)
        return h, h

    return ops.scan(step, h, xs)


def _last(ops: Any, **inputs: Any) -> Any:
    return _scan(ops, **inputs)[0]


def _outputs(ops: Any, **inputs: Any) -> Any:
    return _scan(ops, **inputs)[1]


def gradients() -> Iterator[Case]:
    x = {"x": draw(2, 3)}
    # to finite differences both factors move: its gradient is stated in test_control.py
    yield Case(
        "stop_gradient",
        "a factor",
        x,
        lambda ops, x: ops.stop_gradient(x) * x,
        lambda x: x * x,
        ("x",),
        kink=True,
    )
    yield Case("value_and_grad", "a cube", x, _slope_of_cube, lambda x: 3 * x * x)


def _slope_of_cube(ops: Any, x: Any) -> Any:
    return ops.value_and_grad(lambda w: (ops.sum(w["x"] ** 3), None))({"x": x})[1]["x"]
