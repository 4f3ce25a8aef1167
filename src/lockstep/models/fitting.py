"""Whether a person's arrays can be trained on, and whether a model's outputs fit them.

Checked before the first step and without a framework, so that every framework says the same.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lockstep.contract.dtypes import require_32_bits
from lockstep.errors import InputError, LockstepError

if TYPE_CHECKING:
    from lockstep.ops import Array, Arrays

NUMBERS = "fiub"  # NumPy's kinds: floats, whole numbers with and without sign, booleans
PACKAGE = str(Path(__file__).resolve().parent.parent)
TRIED = 2  # examples that a model is tried on: with one, an axis of 1 could be anything


def as_numbers(field: str, value: Any) -> np.ndarray:
    """An array of finite numbers with an axis for the examples.

    >>> as_numbers("x", [[1.0, float("nan")]])
    Traceback (most recent call last):
    ...
    lockstep.errors.InputError: x = nan: is not finite (row 0). Leave that row out, or fill it in.
    """
    array = finite_numbers(field, value)
    if array.ndim == 0:
        raise InputError(field, array.item(), "has no axis of examples", "Give an array (N, ...).")
    if array.size == 0:
        raise InputError(field, array.shape, "is empty", "Give at least one example.")
    return array


def finite_numbers(field: str, value: Any) -> np.ndarray:
    """An array of any shape that holds finite numbers, whole ones of at most 32 bits."""
    try:
        array = np.asarray(value)
    except ValueError as error:  # rows of different lengths
        problem, remedy = f"is no array ({error})", "Give rows of equal length."
        raise InputError(field, type(value).__name__, problem, remedy) from error
    if array.dtype.kind not in NUMBERS:
        problem = "holds no real numbers"
        raise InputError(field, array.dtype.name, problem, "Give floats or whole numbers.")
    if array.dtype.kind == "f" and not (fine := np.isfinite(array)).all():
        place = tuple(int(i) for i in np.argwhere(~fine)[0])
        row = f" (row {place[0]})" if place else ""
        remedy = "Leave that row out, or fill it in."
        raise InputError(field, float(array[place]), f"is not finite{row}", remedy)
    require_32_bits(field, array)
    return array


def as_labels(field: str, y: np.ndarray) -> np.ndarray:
    """Whole numbers from 0 on, one for each example or for each place of it: (N, ...)."""
    if y.dtype.kind not in "iu":
        remedy = "Give whole numbers from 0 on, such as y.astype(int)."
        raise InputError(field, y.dtype.name, "are not labels", remedy)
    if y.min() < 0:
        remedy = "Give whole numbers from 0 on; leave out what has no label."
        raise InputError(field, int(y.min()), "is not a label", remedy)
    return y


def with_outputs(outputs: Array) -> Array:
    """The outputs of a person's own model: one array with an axis beside that of the examples."""
    if not hasattr(outputs, "shape"):
        raise InputError(
            "model",
            type(outputs).__name__,
            "is not what a model may give: outputs are one array",
            "Return that array alone (of a recurrent layer: its outputs without its state).",
        )
    if len(outputs.shape) < 2:  # against targets (B, 1) they would spread to (B, B)
        raise InputError(
            "model",
            tuple(outputs.shape),
            "gives one number per example without an axis of its own",
            "Return (B, 1): keep the last axis.",
        )
    return outputs


def check_outputs(
    splits: Mapping[str, Arrays],
    classifies: bool,
    name: str,
    call: Callable[[np.ndarray], Array],
    own_loss: bool = False,
    also: Callable[[tuple[int, ...], np.ndarray], None] | None = None,
) -> None:
    """Refuse a model that fails, outputs that do not fit y, and labels that have no score.

    `call(x)` gives the outputs (m, ...) that the model of that name has for examples x (m, ...).
    What fits y is the affair of an `own_loss`; `also(shape, y)` looks at it, and at own metrics.
    """
    for split, arrays in splits.items():
        x, y = arrays["x"][:TRIED], arrays["y"]
        try:
            outputs = call(x)
        except LockstepError:
            raise
        except Exception as error:
            raise _failed(name, x, error) from error
        found = tuple(int(size) for size in with_outputs(outputs).shape)
        if found[0] != len(x):
            problem = f"gives {found[0]} outputs for {len(x)} examples"
            remedy = "Return an output for each example, on the first axis."
            raise InputError("model", found, problem, remedy)
        field = "y" if split == "train" else f"y_{split}"
        if classifies:
            _check_scores(field, found[1:], y)
        elif not own_loss and found[1:] != y.shape[1:]:
            shapes = f"{_named(found[1:])} against {_named(y.shape[1:])}"
            raise InputError("model", shapes, "outputs and y differ in shape", "Make them equal.")
        if also is not None:
            also(found, y[:TRIED])


def _failed(name: str, x: np.ndarray, error: Exception) -> InputError:
    """What a model raised, and on which of the person's own lines."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((PACKAGE, "<")) and "-packages" not in frame.filename
    ]
    place = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    first = (str(error).strip() or "no message").splitlines()[0]
    return InputError(
        "model",
        name,
        f"fails on examples {_named(x.shape[1:])}: {type(error).__name__}: {first}{place}",
        "Correct it there, or give it x of the shape and type that it takes.",
    )


def _check_scores(field: str, scores: tuple[int, ...], y: np.ndarray) -> None:
    """scores (..., C) of one example against labels y (N, ...)."""
    labels = y.shape[1:]
    if scores[:-1] != labels:
        problem = f"gives no scores for labels {field} of shape {_named(labels)}"
        raise InputError("model", _named(scores), problem, _remedy(field, scores, labels))
    if y.max() >= scores[-1]:
        raise InputError(
            field,
            int(y.max()),
            f"is no class of a model with {scores[-1]} scores",
            f"Give labels from 0 to {scores[-1] - 1}, or a model with {int(y.max()) + 1} scores.",
        )


def _remedy(field: str, scores: tuple[int, ...], labels: tuple[int, ...]) -> str:
    if scores == labels:
        return f"If {field} is one-hot, give labels: {field}.argmax(axis=-1)."
    if labels and labels[-1] == 1 and scores[:-1] == labels[:-1]:
        return f"Give {field} without its last axis: {field}[..., 0]."
    wanted = _named((*labels, "C"))
    if labels and scores[1:] == labels:
        return f"Return {wanted}: the classes on the last axis."
    return f"Return {wanted}: a score for each class of each label."


def _named(shape: tuple[int | str, ...]) -> str:
    """The shape of many examples, from that of one.

    >>> _named((7, 2)), _named(())
    ('(N, 7, 2)', '(N,)')
    """
    return f"(N, {', '.join(map(str, shape))})" if shape else "(N,)"
