"""Linear regression, and softmax regression: one dense layer on the flattened input."""

from __future__ import annotations

from math import prod

from lockstep.errors import InputError
from lockstep.models.layers import Dense, Flatten, Sequential
from lockstep.models.model import gaussian
from lockstep.spec import Linear, Softmax


def build(part: Linear | Softmax, input_shape: tuple[int, ...], num_outputs: int) -> Sequential:
    """y = x w + b; for softmax regression, the scores of the classes."""
    if isinstance(part, Softmax) and num_outputs < 2:
        problem = "needs classes, but the data has none"
        raise InputError("model.kind", part.kind, problem, "Use linear.")
    dense = Dense("fc1", prod(input_shape), num_outputs, weight="w", bias="b")
    return Sequential((Flatten(), dense), input_shape, gaussian)
