"""Within the layers: which part of each weight a device has, and what must travel between them.

A layer divided by outputs needs its inputs whole and gives a part of its outputs; one divided by
inputs takes a part and gives a sum over devices. So a layer by outputs followed by one by inputs
needs nothing in between. Per example, A the activations between two layers, k devices:

- by outputs after by outputs: parts gathered, their gradients summed: 2 A (k-1)/k sent by each
- by inputs, then by outputs: sums for all, and later the gradients of what all have: 4 A (k-1)/k
- by inputs after by inputs: sums scattered, their gradients gathered: 2 A (k-1)/k

Gathering a convolution's outputs costs less than summing the next one's, which are not pooled yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, starmap
from math import prod

from lockstep.models.layers import Block, Convolution, Sequential
from lockstep.processes.splitting import shard_sizes, shard_slices

SIDE = 28  # of an image
# fewest exchanges, then fewest bytes: between two devices 5 exchanges a step for both forms, where
# outputs alone would take 9 and 7, and a fourth more bytes
BY = {  # by the number of layers: LeNet with max- and with avg-pooling
    5: ("outputs", "outputs", "inputs", "outputs", "inputs"),
    4: ("outputs", "outputs", "inputs", "inputs"),
}


@dataclass(frozen=True)
class LayerShape:
    """Of one example: the outputs' shape, how many numbers there are before pooling, and how many
    products are added up for them."""

    layer: Block
    outputs: tuple[int, ...]
    unpooled: int
    products: int

    @property
    def name(self) -> str:
        return self.layer.name


def layer_shapes(model: Sequential) -> tuple[LayerShape, ...]:
    """Layer by layer. A kernel multiplies at every place, a matrix once.

    >>> from lockstep.models.lenet import lenet
    >>> [(s.name, s.outputs, s.products) for s in layer_shapes(lenet("avg"))][:3]
    [('conv1', (20, 13, 13), 121680), ('conv2', (50, 4, 4), 2025000), ('fc1', (128,), 102400)]
    """
    found, side = [], SIDE
    for layer in model.blocks:
        shape = model.shapes[f"{layer.name}_w"]
        size = prod(shape)
        if isinstance(layer.layer, Convolution):
            places = side + 2 * layer.layer.padding - shape[2] + 1
            side = places // 2
            found.append(
                LayerShape(layer, (shape[0], side, side), places**2 * shape[0], places**2 * size)
            )
        else:
            found.append(LayerShape(layer, (shape[1],), shape[1], size))
    return tuple(found)


@dataclass(frozen=True)
class Divided:
    """One layer over devices.

    `by`: outputs or inputs. `before`: what happens to its inputs, `after` to its outputs: gather
    (parts made whole), spread (whole already; gradients are summed), scatter (sums, each device its
    part), sum (sums, all of them everywhere), or nothing. `sizes`: channels or units of each
    device's part, of the inputs gathered or the outputs scattered.
    """

    layer: Block
    by: str
    before: str
    after: str
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class Part:
    """Where a weight is cut: along an axis, a slice for each device, together all of it."""

    axis: int
    slices: tuple[slice, ...]


def divide(model: Sequential, num_devices: int) -> tuple[Divided, ...]:
    """The layers in order.

    >>> from lockstep.models.lenet import lenet
    >>> [(d.layer.name, d.by, d.before, d.after) for d in divide(lenet("avg"), 2)][1:]
    [('conv2', 'outputs', 'gather', ''), ('fc1', 'inputs', '', 'scatter'), \
('fc2', 'inputs', '', 'sum')]
    """
    found, shapes, ways = [], layer_shapes(model), BY[len(model.blocks)]
    for i, (shape, by) in enumerate(zip(shapes, ways, strict=True)):
        earlier = ways[i - 1] if i else ""
        before = after = ""
        units = shape.outputs[0]
        if by == "outputs" and i:
            before = "gather" if earlier == "outputs" else "spread"
            units = shapes[i - 1].outputs[0]
        if by == "inputs":
            after = "scatter" if i + 1 < len(ways) and ways[i + 1] == "inputs" else "sum"
        found.append(Divided(shape.layer, by, before, after, shard_sizes(units, num_devices)))
    return tuple(found)


def weight_parts(model: Sequential, num_devices: int) -> dict[str, Part]:
    """Every weight's part on each device, by name. A bias that is added to a sum over devices is
    device 0's alone.

    >>> from lockstep.models.lenet import lenet
    >>> parts = weight_parts(lenet("max"), 4)
    >>> [part.stop - part.start for part in parts["conv1_w"].slices]
    [2, 2, 1, 1]
    >>> parts["fc1_w"].axis, parts["fc1_w"].slices[0], parts["fc1_b"].slices[:2]
    (0, slice(0, 100, None), (slice(0, 120, None), slice(120, 120, None)))
    """
    shapes = layer_shapes(model)
    found: dict[str, Part] = {}
    for i, (shape, by) in enumerate(zip(shapes, BY[len(model.blocks)], strict=True)):
        if by == "outputs":
            slices = shard_slices(shape.outputs[0], num_devices)
            axis = 0 if isinstance(shape.layer.layer, Convolution) else 1
            found[f"{shape.name}_w"] = Part(axis, slices)
            found[f"{shape.name}_b"] = Part(0, slices)
        else:
            found[f"{shape.name}_w"] = Part(0, _row_slices(shapes[i - 1], num_devices))
            found[f"{shape.name}_b"] = whole_on(0, shape.outputs[0], num_devices)
    return found


def whole_on(rank: int, length: int, num_devices: int) -> Part:
    """All of a weight, whose first axis has that length, on one device.

    >>> whole_on(1, 5, 2).slices
    (slice(0, 0, None), slice(0, 5, None))
    """
    ends = [0] * (rank + 1) + [length] * (num_devices - rank)
    return Part(0, tuple(starmap(slice, pairwise(ends))))


def most_parts(model: Sequential) -> tuple[str, int]:
    """The layer that can be divided over the fewest devices, and over how many.

    >>> from lockstep.models.lenet import lenet
    >>> most_parts(lenet("max"))
    ('conv1', 6)
    """
    shapes, ways = layer_shapes(model), BY[len(model.blocks)]
    divided = {s.name: s.outputs[0] for s, by in zip(shapes, ways, strict=True) if by == "outputs"}
    name = min(divided, key=lambda layer: divided[layer])
    return name, divided[name]


def _row_slices(earlier: LayerShape, num_devices: int) -> tuple[slice, ...]:
    """Rows of a matrix that the earlier layer's part of channels (or units) meets."""
    channels, *image = earlier.outputs
    each = prod(image)
    parts = shard_slices(channels, num_devices)
    return tuple(slice(part.start * each, part.stop * each) for part in parts)
