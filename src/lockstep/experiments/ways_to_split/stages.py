"""By layers: which device has which, and how much of the time a pipeline stands still."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

from lockstep.experiments.ways_to_split.layer_shapes import LayerShape, layer_shapes
from lockstep.models.layers import Sequential

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


def bubble(num_devices: int, micro_batches: int) -> float:
    """(k - 1) / (m + k - 1): the share of the time in which a device of a pipeline with k equal
    stages and m micro-batches has nothing to do, forward and backward.

    >>> bubble(2, 4), bubble(4, 1), bubble(1, 8)
    (0.2, 0.75, 0.0)
    """
    return (num_devices - 1) / (micro_batches + num_devices - 1)


def bubble_of_stages(seconds: Sequence[float], micro_batches: int) -> float:
    """The same for stages that take different times t_i for a batch: 1 - sum(t_i) / (k T), where
    T = (sum(t_i) + (m - 1) max(t_i)) / m; the first micro-batch passes all stages, the others
    follow at the pace of the slowest.

    >>> round(bubble_of_stages([2.0, 2.0], 4), 3), round(bubble_of_stages([3.0, 1.0], 4), 3)
    (0.2, 0.385)
    """
    total, slowest = sum(seconds), max(seconds)
    whole = (total + (micro_batches - 1) * slowest) / micro_batches
    return 1 - total / (len(seconds) * whole) if whole else 0.0
