"""Dense layers: linear and softmax regression, and the multilayer perceptron."""

from __future__ import annotations

from itertools import pairwise
from math import prod

from lockstep.errors import InputError
from lockstep.models.layers import Dense, Flatten, Layer, ReLU, Sequential
from lockstep.models.model import gaussian, xavier
from lockstep.spec import MLP, Linear, Softmax


def linear(part: Linear | Softmax, input_shape: tuple[int, ...], num_outputs: int) -> Sequential:
    """y = x w + b on the flattened input; for softmax regression, the scores of the classes."""
    if isinstance(part, Softmax) and num_outputs < 2:
        problem = "needs classes, but the data has none"
        raise InputError("model.kind", part.kind, problem, "Use linear.")
    dense = Dense("fc1", prod(input_shape), num_outputs, weight="w", bias="b")
    return Sequential((Flatten(), dense), input_shape, gaussian)


def mlp(part: MLP, input_shape: tuple[int, ...], num_outputs: int) -> Sequential:
    """Layers fc1, fc2 ... with ReLU between them; the arrays are w1, b1, w2, b2 ..."""
    layers: list[Layer] = [Flatten()]
    for i, (inputs, outputs) in enumerate(
        pairwise((prod(input_shape), *part.hiddens, num_outputs)), 1
    ):
        layers += [Dense(f"fc{i}", inputs, outputs, weight=f"w{i}", bias=f"b{i}"), ReLU()]
    return Sequential(tuple(layers[:-1]), input_shape, xavier)
