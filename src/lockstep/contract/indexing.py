"""Indices: what stands in `x[...]`, taken apart into steps that every framework takes alike."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lockstep.errors import InputError


class Selection(NamedTuple):
    """Forward slices for every axis, the axes to turn round after them, and the final shape."""

    slices: tuple[slice, ...]
    flipped: tuple[int, ...]
    shape: tuple[int, ...]


def selection(key: Any, shape: tuple[int, ...]) -> Selection:
    """NumPy's basic indexing of an array of this shape.

    >>> selection((0, slice(None, None, -2), None), (3, 5))
    Selection(slices=(slice(0, 1, 1), slice(0, 5, 2)), flipped=(1,), shape=(3, 1))
    """
    slices: list[slice] = []
    flipped: list[int] = []
    final: list[int] = []
    for part in _whole_key(key if isinstance(key, tuple) else (key,), len(shape)):
        if part is None:
            final.append(1)
            continue
        axis = len(slices)
        if isinstance(part, slice):
            rows = _rows(part, shape[axis])
            if rows.step < 0:
                flipped.append(axis)
                rows = rows[::-1]
            slices.append(slice(rows.start, rows[-1] + 1, rows.step))
            final.append(len(rows))
        else:
            place = position(part, shape[axis], axis)
            slices.append(slice(place, place + 1, 1))
    return Selection(tuple(slices), tuple(flipped), tuple(final))


def position(index: Any, size: int, axis: int) -> int:
    """An index counted from the start.

    >>> position(-1, 4, 0)
    3
    """
    if not -size <= index < size:
        problem = f"is out of range for axis {axis}, which has {size} entries"
        raise InputError("index", int(index), problem, f"Give {-size} to {size - 1}.")
    return int(index) % size


def _whole_key(parts: tuple[Any, ...], ndim: int) -> list[Any]:
    """The key with a part for every axis: `...` and what is left out are whole axes."""
    for part in parts:
        _require_basic(part)
    dots = [place for place, part in enumerate(parts) if part is ...]
    missing = ndim - sum(part is not None and part is not ... for part in parts)
    if missing < 0 or len(dots) > 1:
        problem = (
            f"has more parts than the array has axes ({ndim})" if missing < 0 else "has two ..."
        )
        raise InputError("index", _text(parts), problem, "Give one part for each axis.")
    at = dots[0] if dots else len(parts)
    return [*parts[:at], *[slice(None)] * missing, *parts[at + 1 :]]


def _require_basic(part: Any) -> None:
    whole = isinstance(part, int | np.integer) and not isinstance(part, bool)
    if not (part is None or part is ... or whole or isinstance(part, slice)):
        remedy = "Use ops.take for rows, ops.pick for one entry of each, ops.where for a mask."
        raise InputError("index", part, "is no whole number, slice, None or ...", remedy)


def _rows(part: slice, size: int) -> range:
    try:
        rows = range(size)[part]
    except (TypeError, ValueError) as error:  # a bound that is no whole number, a step of 0
        remedy = "Give whole numbers, the step not 0."
        raise InputError("index", _text((part,)), "is no slice", remedy) from error
    if not rows:
        problem = f"leaves none of {size} entries"
        raise InputError("index", _text((part,)), problem, "Keep at least one.")
    return rows


def _text(parts: tuple[Any, ...]) -> str:
    return ", ".join(
        ":".join("" if end is None else str(end) for end in (p.start, p.stop, p.step))
        if isinstance(p, slice)
        else "..." if p is ... else str(p)
        for p in parts
    )  # fmt: skip
