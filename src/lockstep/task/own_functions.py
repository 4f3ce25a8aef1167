"""A person's own loss and metrics, written over Ops: one number for each example.

A run sums them over examples, on all devices, and divides once; nothing here sums or divides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
        if isinstance(found, ContractArray):
            found = own.floating(found).native
        shape = tuple(getattr(found, "shape", ()))
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
    field: str,
    y: np.ndarray,
    examples: Any | None,
    classes: Mapping[int, float] | Any | None,
) -> np.ndarray | None:
    """The factor of each loss: that of its example times that of its class; None without any.

    >>> as_weights("", np.array([0, 1, 1]), [1.0, 1.0, 2.0], {1: 3.0}).tolist()
    [1.0, 3.0, 6.0]
    """
    if examples is None and classes is None:
        return None
    weights = np.ones(y.shape if classes is not None else y.shape[:1])
    if examples is not None:
        given = _not_negative(f"example_weights{field}", examples)
        if given.shape != y.shape[:1]:
            problem = f"is not one weight for each of {len(y)} examples"
            raise InputError(f"example_weights{field}", given.shape, problem, f"Give ({len(y)},).")
        weights = weights * given.reshape(-1, *(1,) * (weights.ndim - 1))
    if classes is not None:
        weights = weights * _by_class(y, classes)
    return weights


def _by_class(y: np.ndarray, classes: Any) -> np.ndarray:
    if y.dtype.kind not in "iu":
        problem = "are for labels, and y holds none"
        raise InputError("class_weights", y.dtype.name, problem, "Give example_weights.")
    if not isinstance(classes, Mapping):
        classes = dict(enumerate(_not_negative("class_weights", classes).tolist()))
    table = np.ones(int(y.max()) + 1)
    for label, weight in classes.items():
        if not isinstance(label, int | np.integer) or label < 0:
            raise InputError("class_weights", label, "is no label", "Give labels from 0 on.")
        if label < len(table):
            table[label] = _not_negative("class_weights", weight)
    return table[y]


def _not_negative(field: str, value: Any) -> np.ndarray:
    try:
        given = np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(field, value, "holds no numbers", "Give numbers.") from error
    if not np.isfinite(given).all() or (given < 0).any() or not given.size:
        problem = "has a weight that is not a finite number from 0 on"
        raise InputError(field, str(value)[:60], problem, "Give numbers from 0 on.")
    return given
