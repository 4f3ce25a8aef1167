"""What each device has of the model in each way, in words and numbers, and how what the devices
have is put together. By layers, that is a stage of a pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from math import prod

import numpy as np

from lockstep.experiments.ways_to_split.division import (
    LayerShape,
    Part,
    layer_shapes,
    weight_parts,
    whole_on,
)
from lockstep.experiments.ways_to_split.question import LAYERS, WITHIN, Question
from lockstep.models.layers import Sequential
from lockstep.ops import Arrays

# what a number before pooling costs, in products: convolutions of few channels, ReLU and pooling
# wait for memory. Fits the times of all layers of both forms, batch 256, float32, on one core
UNPOOLED = 300


def stages(model: Sequential, num_devices: int) -> tuple[tuple[LayerShape, ...], ...]:
    """Neighbouring layers for each device, so that the largest cost is as small as possible, then
    the second largest, and so on.

    A layer costs its products three times: forward, gradient of weights, gradient of inputs, which
    images do not need; and UNPOOLED for each number that it computes.

    >>> from lockstep.models.lenet import lenet
    >>> [[layer.name for layer in stage] for stage in stages(lenet("max"), 3)]
    [['conv1'], ['conv2'], ['fc1', 'fc2', 'fc3']]
    """
    layers = layer_shapes(model)
    costs = [(3 if i else 2) * x.products + UNPOOLED * x.unpooled for i, x in enumerate(layers)]

    def largest_first(bounds: tuple[int, ...]) -> list[int]:
        return sorted((sum(costs[start:stop]) for start, stop in pairwise(bounds)), reverse=True)

    cuts = combinations(range(1, len(layers)), num_devices - 1)
    best = min(((0, *cut, len(layers)) for cut in cuts), key=largest_first)
    return tuple(layers[start:stop] for start, stop in pairwise(best))


def words(question: Question, way: str, rank: int) -> str:
    """A device's part of the model.

    >>> words(Question(), "by layers", 0), words(Question(), "within layers", 1)
    ('conv1', 'a part of each layer')
    """
    if way == LAYERS:
        return ", ".join(shape.name for shape in stages(question.model, question.devices)[rank])
    return "a part of each layer" if way == WITHIN else "all layers"


def num_parameters(question: Question, way: str, rank: int) -> int:
    """How many numbers of the weights are on a device.

    >>> [num_parameters(Question(), "by layers", rank) for rank in (0, 1)]
    [156, 61550]
    """
    parts = _parts(question, way)
    total = 0
    for name, shape in question.model.shapes.items():
        size = prod(shape)
        if parts is not None:
            cut = parts[name].slices[rank]
            size = size // shape[parts[name].axis] * (cut.stop - cut.start)
        total += size
    return total


def join(question: Question, way: str, found: Sequence[Mapping[str, np.ndarray]]) -> list[Arrays]:
    """Weights, or gradients, from what each device has: one, or a copy of each device's where all
    have all."""
    parts = _parts(question, way)
    if parts is None:
        return [dict(arrays) for arrays in found]
    whole: Arrays = {}
    for name, part in parts.items():
        pieces = [arrays[name] for arrays in found if name in arrays]
        whole[name] = np.concatenate(pieces, part.axis)
    return [whole]


def _parts(question: Question, way: str) -> dict[str, Part] | None:
    """Where every weight is cut; None where all devices have all."""
    model, devices = question.model, question.devices
    if way == WITHIN:
        return weight_parts(model, devices)
    if way != LAYERS:
        return None
    return {
        name: whole_on(rank, model.shapes[name][0], devices)
        for rank, stage in enumerate(stages(model, devices))
        for shape in stage
        for name in (f"{shape.name}_w", f"{shape.name}_b")
    }
