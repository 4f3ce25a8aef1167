"""Random programs over Ops: about ten operations on floats, bytes, whole numbers and booleans.

A program is built operation by operation, while the oracle computes each: an operation whose result
is not finite, is large, or stands so near to a tie that rounding would decide it, is not taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from lockstep.errors import InputError
from lockstep.frameworks import registry

LENGTH = 10
LARGEST = 100.0  # products of such numbers keep their digits, and exp of their tanh does
APART = 1e-4  # numbers that are compared must differ by more, or be equal and not computed
WEIGHTS = ("w0", "w1")
ORACLE = registry.get("numpy").ops("float64")


class Instruction(NamedTuple):
    text: str
    function: Callable[..., Any]  # of ops and the values named by `places`
    places: tuple[int, ...]


class Program(NamedTuple):
    inputs: dict[str, np.ndarray]  # floats whose names are in WEIGHTS have gradients
    instructions: tuple[Instruction, ...]

    def __repr__(self) -> str:
        lines = [
            f"v{i} = {name}: {x.dtype}{x.shape}" for i, (name, x) in enumerate(self.inputs.items())
        ]
        for i, (text, _, places) in enumerate(self.instructions, len(self.inputs)):
            lines.append(f"v{i} = {text} of " + ", ".join(f"v{place}" for place in places))
        return "\n".join(lines)

    def run(self, ops: Any, arrays: dict[str, Any]) -> Any:
        values = list(arrays.values())
        for _, function, places in self.instructions:
            values.append(function(ops, *(values[place] for place in places)))
        return self.joined(ops, values[len(arrays) :])

    @staticmethod
    def joined(ops: Any, values: list[Any]) -> Any:
        """Every result in one row, so that none goes unseen."""
        return ops.concat([ops.reshape(ops.floating(value), (value.size,)) for value in values])


def _inputs(seed: int, shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "w0": rng.normal(size=shape),
        "w1": rng.normal(size=shape[-1:]),
        "x": rng.normal(size=shape),
        "bytes": rng.integers(0, 256, shape).astype(np.uint8),
        "wholes": rng.integers(-9, 10, shape).astype(np.int32),
        "divisors": rng.integers(1, 6, shape[-1:]).astype(np.int64),
        "truths": rng.random(shape) < 0.5,
    }


@st.composite
def programs(draw: st.DrawFn) -> Program:
    shape = draw(st.sampled_from([(4,), (3, 4), (2, 3, 4), (2, 1, 4, 4)]))
    inputs = _inputs(draw(st.integers(0, 2**31)), shape)
    values = [ORACLE.asarray(x) for x in inputs.values()]
    found: list[Instruction] = []
    for _ in range(3 * LENGTH):
        # later values twice as likely: programs become deep, not wide
        place = draw(st.integers(0, len(values) - 1)) if draw(st.booleans()) else len(values) - 1
        other = draw(st.integers(0, len(values) - 1))
        made = draw(st.sampled_from(KINDS))(draw, values[place], values[other])
        if made is None:
            continue
        text, function, both = made
        places = (place, other) if both else (place,)
        given = [values[i] for i in places]
        with np.errstate(all="ignore"):
            try:
                value = function(ORACLE, *given)
            except InputError:  # shapes that do not broadcast, // of floats: see test_refusals.py
                continue
        if value.size <= 200 and _is_tame(ORACLE.to_numpy(value)):
            values.append(value)
            found.append(Instruction(text, function, places))
        if len(found) == LENGTH:
            break
    if not found:
        found.append(Instruction("x + 1", lambda ops, x: x + 1, (0,)))
    return Program(inputs, tuple(found))


def _is_tame(value: np.ndarray) -> bool:
    return bool(np.isfinite(value).all() and np.abs(value.astype(np.float64)).max() <= LARGEST)


def _apart(*arrays: Any) -> bool:
    """Whether entries that meet differ clearly; whole numbers are exact anyway."""
    if all(x.dtype.kind != "f" for x in arrays):
        return True
    try:
        a, b = np.broadcast_arrays(*(ORACLE.to_numpy(x).astype(np.float64) for x in arrays))
    except ValueError:
        return False
    return bool(np.abs(a - b).min() > APART)


def _distinct(x: Any) -> bool:
    """Whether no two entries of floats are nearly equal."""
    entries = np.sort(ORACLE.to_numpy(x).astype(np.float64).ravel())
    return x.dtype.kind != "f" or x.size == 1 or bool(np.diff(entries).min() > APART)


Made = tuple[str, Callable[..., Any], bool] | None


def _operator(draw: st.DrawFn, x: Any, y: Any) -> Made:
    operators: dict[str, Callable[[Any, Any, Any], Any]] = {
        "+": lambda ops, a, b: a + b,
        "-": lambda ops, a, b: a - b,
        "*": lambda ops, a, b: a * b,
        "/": lambda ops, a, b: a / (ops.abs(b) + 0.7),
        "//": lambda ops, a, b: a // (ops.abs(b) + 1),
        "%": lambda ops, a, b: a % (ops.abs(b) + 1),
        "**": lambda ops, a, b: (ops.abs(a) + 0.3) ** (b * 0.01),
    }
    sign = draw(st.sampled_from(sorted(operators)))
    if sign in ("/", "**") and not _apart(y if sign == "/" else x, ORACLE.asarray(0.0)):
        return None  # the kink of abs
    return sign, operators[sign], True


def _with_number(draw: st.DrawFn, x: Any, y: Any) -> Made:
    number = draw(st.sampled_from([2, -3, 0.1, 1 / 3, 128.0, True]))
    forms: dict[str, Callable[[Any, Any], Any]] = {
        "x + n": lambda ops, x: x + number,
        "n - x": lambda ops, x: number - x,
        "x * n": lambda ops, x: x * number,
        "x / n": lambda ops, x: x / number,
        "x // 3": lambda ops, x: x // 3,
        "x % -4": lambda ops, x: x % -4,
        "x ** 2": lambda ops, x: x**2,
        "-x": lambda ops, x: -x,
    }
    form = draw(st.sampled_from(sorted(forms)))
    return form.replace("n", str(number)), forms[form], False


def _comparison(draw: st.DrawFn, x: Any, y: Any) -> Made:
    if not _apart(x, y):
        return None
    forms: dict[str, Callable[..., Any]] = {
        "<": lambda ops, a, b: a < b,
        ">=": lambda ops, a, b: a >= b,
        "==": lambda ops, a, b: a == b,
        "!=": lambda ops, a, b: a != b,
        "(<) * x": lambda ops, a, b: (a < b) * a,
        "(<) & ~(==)": lambda ops, a, b: (a < b) & ~(a == b),
        "where": lambda ops, a, b: ops.where(a > b, a, b * 2),
        "maximum": lambda ops, a, b: ops.maximum(a, b),
        "minimum": lambda ops, a, b: ops.minimum(a, b),
    }
    form = draw(st.sampled_from(sorted(forms)))
    return form, forms[form], True


def _function(draw: st.DrawFn, x: Any, y: Any) -> Made:
    name = draw(st.sampled_from(["tanh", "sigmoid", "exp", "log", "sqrt", "abs", "relu"]))
    if name in ("abs", "relu") and not _apart(x, ORACLE.asarray(0.0)):
        return None
    if name == "exp":
        return "exp tanh", lambda ops, x: ops.exp(ops.tanh(x)), False
    if name in ("log", "sqrt"):
        return f"{name} (x x + 0.5)", lambda ops, x: getattr(ops, name)(x * x + 0.5), False
    return name, lambda ops, x: getattr(ops, name)(x), False


def _reduction(draw: st.DrawFn, x: Any, y: Any) -> Made:
    name = draw(st.sampled_from(["sum", "mean", "max", "argmax"]))
    if name in ("max", "argmax") and not _distinct(x):
        return None
    axes: list[Any] = [None, *range(-x.ndim, x.ndim)]
    if x.ndim > 1 and name != "argmax":
        axes.append((0, -1))
    axis = draw(st.sampled_from(axes))
    if name == "argmax":
        return f"argmax {axis}", lambda ops, x: ops.argmax(x, axis) * 0.5, False
    keep = draw(st.booleans())
    return f"{name} {axis} {keep}", lambda ops, x: getattr(ops, name)(x, axis, keep), False


def _index(draw: st.DrawFn, x: Any, y: Any) -> Made:
    parts: list[Any] = [draw(st.sampled_from(_parts(size))) for size in x.shape]
    if draw(st.booleans()):
        parts.insert(draw(st.integers(0, len(parts))), None)
    if parts and draw(st.booleans()):
        parts[-1] = ...
    key = tuple(parts)
    return f"x[{key}]", lambda ops, x: x[key], False


def _parts(size: int) -> list[Any]:
    return [0, -1, slice(None), slice(None, None, -1), slice(-1, None), slice(None, None, 2)][
        : 6 if size > 1 else 3
    ]


def _shape(draw: st.DrawFn, x: Any, y: Any) -> Made:
    order = draw(st.permutations(range(-x.ndim, 0)))
    forms: dict[str, tuple[Callable[..., Any], bool]] = {
        f"transpose {order}": (lambda ops, x: ops.transpose(x, order), False),
        "reshape -1": (lambda ops, x: ops.reshape(x, (-1, x.shape[-1] if x.ndim else 1)), False),
        "concat": (lambda ops, x, y: ops.concat([x, y], -1), True),
        "stack": (lambda ops, x, y: ops.stack([x, y, x], -1), True),
        "concat of one": (lambda ops, x: ops.concat([x, x * 2]), False),
    }
    form = draw(st.sampled_from(sorted(forms)))
    return form, *forms[form]


def _selection(draw: st.DrawFn, x: Any, y: Any) -> Made:
    if not x.ndim:
        return None
    rows = [draw(st.integers(-x.shape[0], x.shape[0] - 1)) for _ in range(3)]
    depth = x.shape[-1]
    places = draw(st.sampled_from([[0] * 3, rows]))
    forms: dict[str, tuple[Callable[..., Any], bool]] = {
        f"take {rows}": (lambda ops, x: ops.take(x, rows), False),
        f"take array {rows}": (lambda ops, x: ops.take(x, ops.asarray([rows, places])), False),
        "pick the largest": (lambda ops, x: ops.pick(x, ops.argmax(x)), False),
        "pick the last": (lambda ops, x: ops.pick(x, np.full(x.shape[:-1], -1)), False),
        "one_hot": (lambda ops, x: ops.one_hot(x, depth), False),
    }
    form = draw(st.sampled_from(sorted(forms)))
    if form == "pick the largest" and not _distinct(x):
        return None
    return form, *forms[form]


def _layer(draw: st.DrawFn, x: Any, y: Any) -> Made:
    if not x.ndim:
        return None
    forms: dict[str, Callable[..., Any]] = {
        "log_softmax": lambda ops, x: ops.log_softmax(x),
        "x @ xT": lambda ops, x: x @ ops.transpose(x, (*range(x.ndim - 2), -1, -2)[-x.ndim :]),
        "x @ row": lambda ops, x: x @ x[(0,) * (x.ndim - 1)],
        "scan": _scanned,
    }
    if x.ndim == 4 and min(x.shape[2:]) >= 2:
        forms["avg_pool2d"] = lambda ops, x: ops.avg_pool2d(x, 2)
        forms["conv2d"] = lambda ops, x: ops.conv2d(x, x[:1, :, :2, :2] * 0.1, x[:1, 0, 0, 0], 1)
        if _distinct(x):
            forms["max_pool2d"] = lambda ops, x: ops.max_pool2d(x, 2)
    if x.ndim == 1:
        del forms["x @ xT"]
    form = draw(st.sampled_from(sorted(forms)))
    return form, forms[form], False


def _scanned(ops: Any, x: Any) -> Any:
    return ops.scan(lambda c, t: (c * 0.5 + t, c - t), ops.zeros(x.shape[1:]), x)[1]


KINDS = [_operator, _operator, _with_number, _comparison, _function, _reduction, _index]
KINDS += [_shape, _selection, _layer]
