"""Axes and shapes as NumPy means them, checked once for every framework."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from lockstep.errors import InputError

Shape = tuple[int, ...]


def axes(axis: int | Sequence[int] | None, ndim: int) -> Shape:
    """The axes of a reduction, counted from 0 and in order; None means all.

    >>> axes((-1, 0), 3), axes(None, 2)
    ((0, 2), (0, 1))
    """
    if axis is None:
        return tuple(range(ndim))
    found = sorted(
        _axis(each, ndim) for each in (axis if isinstance(axis, tuple | list) else [axis])
    )
    if len(set(found)) < len(found):
        raise InputError("axis", axis, "names an axis twice", "Name each once.")
    return tuple(found)


def _axis(axis: Any, ndim: int) -> int:
    if not isinstance(axis, int | np.integer) or isinstance(axis, bool) or not -ndim <= axis < ndim:
        remedy = f"Give {-ndim} to {ndim - 1}." if ndim else "Give none."
        raise InputError("axis", axis, f"is none of the array's {ndim} axes", remedy)
    return int(axis) % ndim


def reduced(shape: Shape, removed: Shape, keepdims: bool) -> Shape:
    """The shape after a reduction."""
    return tuple(
        1 if i in removed else n for i, n in enumerate(shape) if keepdims or i not in removed
    )


def new_shape(shape: int | Sequence[int]) -> Shape:
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    if not all(isinstance(n, int | np.integer) and n > 0 for n in sizes):
        raise InputError("shape", shape, "must be of whole numbers from 1", "Correct it.")
    return tuple(int(n) for n in sizes)


def reshaped(shape: Shape, wanted: int | Sequence[int]) -> Shape:
    """The wanted shape with its -1 computed.

    >>> reshaped((2, 6), (3, -1))
    (3, 4)
    """
    sizes: list[Any] = list(wanted) if isinstance(wanted, tuple | list) else [wanted]
    if sizes.count(-1) == 1:
        rest = prod(n for n in sizes if n != -1)
        sizes[sizes.index(-1)] = prod(shape) // rest if rest else 0
    whole = all(isinstance(n, int | np.integer) and n > 0 for n in sizes)
    if not whole or prod(sizes) != prod(shape):
        problem = f"does not hold the {prod(shape)} entries of {shape}"
        raise InputError("shape", wanted, problem, "Make the sizes' product equal.")
    return tuple(int(n) for n in sizes)


def permutation(order: Sequence[int], ndim: int) -> Shape:
    """The axes of a transpose, counted from 0.

    >>> permutation((-1, 0, 1), 3)
    (2, 0, 1)
    """
    found = tuple(_axis(each, ndim) for each in order)
    if sorted(found) != list(range(ndim)):
        raise InputError("axes", tuple(order), f"are not all {ndim} axes", "Name each once.")
    return found


def joined(parts: tuple[Shape, ...], axis: int) -> int:
    """The axis along which arrays of these shapes are joined."""
    _require_some(parts)
    place = _axis(axis, len(parts[0]))
    others = {(*part[:place], *part[place + 1 :]) for part in parts}
    if len(others) > 1 or len({len(part) for part in parts}) > 1:
        raise InputError("shapes", parts, f"differ beside axis {axis}", "Make them equal.")
    return place


def stacked(parts: tuple[Shape, ...], axis: int) -> int:
    """The new axis along which arrays of one shape are stacked."""
    _require_some(parts)
    if len(set(parts)) > 1:
        raise InputError("shapes", parts, "differ", "Stack arrays of one shape.")
    return _axis(axis, len(parts[0]) + 1)


def _require_some(parts: tuple[Shape, ...]) -> None:
    if not parts:
        raise InputError("xs", (), "has no arrays", "Give at least one.")


def broadcast(*parts: Shape) -> None:
    try:
        np.broadcast_shapes(*parts)
    except ValueError:
        remedy = "Make the axes equal, counted from the last, or of size 1."
        raise InputError("shapes", parts, "do not broadcast", remedy) from None


def product(a: Shape, b: Shape) -> tuple[Shape, Shape, Shape]:
    """What a and b are reshaped to, both of two axes or more, and the shape of NumPy's a @ b.

    >>> product((4,), (4, 2))
    ((1, 4), (4, 2), (2,))
    """
    if not a or not b:
        raise InputError("operator @", f"{a} @ {b}", "needs axes on both sides", "Use *.")
    left = a if len(a) > 1 else (1, *a)
    right = b if len(b) > 1 else (*b, 1)
    if left[-1] != right[-2]:
        problem = f"has {left[-1]} columns on the left, {right[-2]} rows on the right"
        raise InputError("operator @", f"{a} @ {b}", problem, "Make them equal.")
    broadcast(left[:-2], right[:-2])
    leading = np.broadcast_shapes(left[:-2], right[:-2])
    return left, right, (*leading, *left[-2:-1][: len(a) - 1], *right[-1:][: len(b) - 1])


def batched(left: Shape, right: Shape) -> tuple[Shape, Shape]:
    """The shapes of a product's sides with the same leading axes; one matrix on the right needs
    none, in any framework.

    >>> batched((2, 3, 4), (4, 5)), batched((3, 4), (2, 4, 5))
    (((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)))
    """
    if len(right) == 2:
        return left, right
    leading = np.broadcast_shapes(left[:-2], right[:-2])
    return (*leading, *left[-2:]), (*leading, *right[-2:])


def require_range(indices: np.ndarray, size: int) -> None:
    for index in (indices.min(), indices.max()):
        if not -size <= index < size:
            problem = f"is out of range for {size} entries"
            raise InputError("indices", int(index), problem, f"Give {-size} to {size - 1}.")


def require_convolution(x: Shape, w: Shape, b: Shape, padding: int) -> None:
    given = f"x {x}, w {w}, b {b}, padding {padding}"
    remedy = "Give x (B, C, H, W), w (O, C, h, w), b (O,) and a padding from 0."
    if len(x) != 4 or len(w) != 4 or x[1] != w[1] or b != w[:1] or padding < 0:
        raise InputError("conv2d", given, "shapes do not fit", remedy)
    if any(n + 2 * padding < k for n, k in zip(x[2:], w[2:], strict=True)):
        raise InputError("conv2d", given, "the kernel is larger than the image", remedy)


def require_windows(x: Shape, size: int) -> None:
    if len(x) != 4 or not 1 <= size <= min(x[2:]):
        remedy = "Give x (B, C, H, W) and windows that fit into it."
        raise InputError("pooling", f"x {x}, size {size}", "shapes do not fit", remedy)
