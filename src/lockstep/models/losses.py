"""Losses and the metric, per example, over Ops. Callers sum and average."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING

from lockstep.errors import InputError

if TYPE_CHECKING:
    from lockstep.ops import Array, Ops

Loss = Callable[["Ops", "Array", "Array"], "Array"]


def squared(ops: Ops, outputs: Array, y: Array) -> Array:
    """(y_hat - y)^2 / 2, summed over the outputs of an example: (B, ...), (B, ...) -> (B,)."""
    if tuple(outputs.shape) != tuple(y.shape):  # or they would broadcast to something else
        shapes = f"{tuple(outputs.shape)} against {tuple(y.shape)}"
        raise InputError("model", shapes, "outputs and y differ in shape", "Make them equal.")
    error = outputs - y
    if len(y.shape) > 2:
        error = ops.reshape(error, (y.shape[0], prod(y.shape[1:])))
    return ops.sum(error * error, axis=1) / 2


def cross_entropy(ops: Ops, outputs: Array, y: Array) -> Array:
    """-log softmax(scores)[label]: scores (..., C), labels (...) -> (number of labels,)."""
    count = prod(y.shape)
    scores = ops.reshape(outputs, (count, outputs.shape[-1]))
    return -ops.pick(ops.log_softmax(scores), ops.reshape(y, (count,)))


def are_correct(ops: Ops, outputs: Array, y: Array) -> Array:
    """1 for each label that the largest score names, else 0: (number of labels,)."""
    # as floats: some frameworks compare no two types of whole numbers, and labels may be of any
    right = ops.floating(ops.floating(ops.argmax(outputs)) == ops.floating(y))
    return ops.reshape(right, (prod(y.shape),))


LOSSES: dict[str, Loss] = {"squared": squared, "cross_entropy": cross_entropy}
