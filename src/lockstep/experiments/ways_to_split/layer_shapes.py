"""What goes through each layer of LeNet: sizes of its outputs, and how much it multiplies."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from lockstep.models.layers import Block, Convolution, Sequential

SIDE = 28  # of an image


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
