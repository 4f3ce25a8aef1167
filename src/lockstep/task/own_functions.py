"""A person's own loss and metrics, written over Ops: one number for each example.

A run sums them over examples, on all devices, and divides once; nothing here sums or divides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lockstep.contract import Array as ContractArray
from lockstep.contract import ContractOps
from lockstep.errors import InputError, LockstepError
from lockstep.ops import Array, Ops

TAKEN = ("loss", "accuracy", "perplexity")  # metrics that a run has itself


@dataclass(frozen=True)
class OwnFunction:
    """`function(ops, outputs, y) -> (B,)`, called with arrays of the contract of Ops.

    `name` is how messages call it: loss, metrics.mae.
    """

    name: str
    function: Callable[[Any, Any, Any], Any]

    def __call__(self, ops: Ops, outputs: Array, y: Array) -> Array:
        own = ContractOps(ops, inside_net=True)
        found = self.function(own, own.wrap(outputs), own.wrap(y))
        if not isinstance(found, ContractArray):
            remedy = "Return (B,), computed from outputs and y with ops."
            raise InputError(self.name, type(found).__name__, "is no array of Ops", remedy)
        found = own.floating(found).native
        shape = tuple(found.shape)
        if shape != (y.shape[0],):
            problem = f"is not one number for each of {y.shape[0]} examples"
            remedy = "Return (B,): sum over the other axes, and leave the mean to the run."
            raise InputError(self.name, shape, problem, remedy)
        return found


def as_metrics(metrics: Mapping[str, Any] | None) -> dict[str, OwnFunction]:
    """Own metrics by the names that they have in reports.

    >>> as_metrics({"accuracy": len})
    Traceback (most recent call last):
    ...
    lockstep.errors.InputError: metrics = 'accuracy': is a name that a run uses. Give another.
    """
    if metrics is not None and not isinstance(metrics, Mapping):
        problem = "are not functions by name"
        raise InputError("metrics", type(metrics).__name__, problem, 'Give {"mae": my_mae}.')
    found = {}
    for name, function in (metrics or {}).items():
        if name in TAKEN:
            raise InputError("metrics", name, "is a name that a run uses", "Give another.")
        if not str(name).isidentifier():
            raise InputError("metrics", name, "is no name", "Use letters, digits and _.")
        found[name] = OwnFunction(f"metrics.{name}", as_function(f"metrics.{name}", function))
    return found


def as_function(field: str, value: Any) -> Callable[..., Any]:
    """A function, which it must be."""
    if not callable(value):
        remedy = "Give a function (ops, outputs, y) -> (B,)."
        raise InputError(field, value, "is no function", remedy)
    function: Callable[..., Any] = value
    return function


def try_functions(
    functions: Mapping[str, OwnFunction], ops: Ops, shape: tuple[int, ...], y: np.ndarray
) -> None:
    """Refuse a function that fails on outputs of this shape, or gives another shape than (B,)."""
    outputs = ops.asarray(np.full(shape, 0.5))
    for each in functions.values():
        try:
            with np.errstate(all="ignore"):
                each(ops, outputs, ops.asarray(y))
        except LockstepError:
            raise
        except Exception as error:
            problem = f"fails on outputs {shape} and y {y.shape}: {type(error).__name__}: {error}"
            name = getattr(each.function, "__name__", type(each.function).__name__)
            remedy = "Correct it, for arrays of these shapes."
            raise InputError(each.name, name, problem, remedy) from error


def as_weights(
    y: np.ndarray, examples: Any | None, classes: np.ndarray | None
) -> np.ndarray | None:
    """The factor of each loss: that of its example times that of its class; None without any.

    >>> as_weights(np.array([0, 1, 1]), [1.0, 1.0, 2.0], np.array([1.0, 3.0])).tolist()
    [1.0, 3.0, 6.0]
    """
    if examples is None and classes is None:
        return None
    weights = np.ones(y.shape if classes is not None else y.shape[:1])
    if examples is not None:
        given = _not_negative("example_weights", examples)
        if given.shape != y.shape[:1]:
            problem = f"is not one weight for each of {len(y)} examples"
            raise InputError("example_weights", given.shape, problem, f"Give ({len(y)},).")
        weights = weights * given.reshape(-1, *(1,) * (weights.ndim - 1))
    return weights if classes is None else weights * classes[y]


def by_class(weights: Any, labels: Sequence[np.ndarray]) -> np.ndarray:
    """The factor of each class of these labels, 1 where a mapping does not name it.

    >>> by_class({1: 3.0}, [np.array([0, 1]), np.array([2])]).tolist()
    [1.0, 3.0, 1.0]
    """
    for y in labels:
        if y.dtype.kind not in "iu":
            problem = "are for labels, and y holds none"
            raise InputError("class_weights", y.dtype.name, problem, "Give example_weights.")
    most = max(int(y.max()) for y in labels)
    if isinstance(weights, Mapping):
        table = np.ones(most + 1)
        for label, weight in weights.items():
            _check_label(label, labels)
            table[label] = _of_classes(weight, 0)
        return table
    table = _of_classes(weights, 1)
    if len(table) <= most:
        problem = f"are fewer than the classes, for there is a label {most}"
        raise InputError("class_weights", len(table), problem, f"Give {most + 1}, or by label.")
    return table


def _check_label(label: Any, labels: Sequence[np.ndarray]) -> None:
    if not isinstance(label, int | np.integer) or label < 0:
        raise InputError("class_weights", label, "is no label", "Give labels from 0 on.")
    if not any((y == label).any() for y in labels):
        raise InputError("class_weights", label, "is the label of no example", "Leave it out.")


def _of_classes(weights: Any, axes: int) -> np.ndarray:
    """The weight of one class, or with an axis those of all."""
    listed = isinstance(weights, Iterable) and not isinstance(weights, str | np.ndarray)
    found = _not_negative("class_weights", list(weights) if listed else weights)
    if found.ndim != axes:
        problem = "is not one number for each class"
        remedy = "Give one for each class, or {label: number}."
        raise InputError("class_weights", str(weights)[:60], problem, remedy)
    return found


def _not_negative(field: str, value: Any) -> np.ndarray:
    try:
        given = np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(field, value, "holds no numbers", "Give numbers.") from error
    if not np.isfinite(given).all() or (given < 0).any() or not given.size:
        problem = "has a weight that is not a finite number from 0 on"
        raise InputError(field, str(value)[:60], problem, "Give numbers from 0 on.")
    return given
