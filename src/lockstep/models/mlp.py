"""The multilayer perceptron: dense layers with ReLU between them."""

from __future__ import annotations

from itertools import pairwise
from math import prod

from lockstep.models.layers import Dense, Flatten, Layer, ReLU, Sequential
from lockstep.models.model import xavier
from lockstep.spec import MLP


def build(part: MLP, input_shape: tuple[int, ...], num_outputs: int) -> Sequential:
    """Layers fc1, fc2 ... with the arrays w1, b1, w2, b2 ..."""
    sizes = (prod(input_shape), *part.hiddens, num_outputs)
    layers: list[Layer] = [Flatten()]
    for i, (inputs, outputs) in enumerate(pairwise(sizes), 1):
        layers += [Dense(f"fc{i}", inputs, outputs, weight=f"w{i}", bias=f"b{i}"), ReLU()]
    return Sequential(tuple(layers[:-1]), input_shape, xavier)
