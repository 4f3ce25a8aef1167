"""LeNet in the two forms of the chapters."""

from __future__ import annotations

from math import prod

from lockstep.errors import InputError
from lockstep.models.layers import (
    AvgPool,
    Convolution,
    Dense,
    Flatten,
    Layer,
    MaxPool,
    ReLU,
    Sequential,
)
from lockstep.models.model import gaussian, xavier
from lockstep.spec import LeNet

SIDE, NUM_CLASSES = 28, 10  # of the chapters


def build(part: LeNet, input_shape: tuple[int, ...], num_outputs: int) -> Sequential:
    """The form with that pooling: x (B, H, W) grey or (B, C, H, W) -> scores (B, num_outputs)."""
    shape = (1, *input_shape) if len(input_shape) == 2 else input_shape
    if len(shape) != 3:
        raise InputError("model.kind", part.kind, "needs images", "Use mlp.")
    if num_outputs < 2:
        raise InputError("model.kind", part.kind, "needs classes", "Use mlp.")
    return lenet(part.pooling, shape, num_outputs)


def lenet(
    pooling: str,
    input_shape: tuple[int, ...] = (1, SIDE, SIDE),
    num_outputs: int = NUM_CLASSES,
) -> Sequential:
    """LeNet with max-pooling (6 and 16 channels) or avg (20 and 50), for images (C, H, W).

    >>> [block.name for block in lenet("avg").blocks]
    ['conv1', 'conv2', 'fc1', 'fc2']
    >>> lenet("max", (3, 32, 32), 100).shapes["fc1_w"]
    (576, 120)
    """
    channels = input_shape[0]
    convolved: tuple[Layer, ...]
    if pooling == "max":
        convolved = (
            *(Convolution("conv1", channels, 6, kernel=5, padding=2), ReLU(), MaxPool(2)),
            *(Convolution("conv2", 6, 16, kernel=5), ReLU(), MaxPool(2)),
        )
    else:
        convolved = (
            *(Convolution("conv1", channels, 20, kernel=3), ReLU(), AvgPool(2)),
            *(Convolution("conv2", 20, 50, kernel=5), ReLU(), AvgPool(2)),
        )
    shape = input_shape
    for layer in convolved:
        shape = layer.output_shape(shape)
        if min(shape) < 1:
            size = " x ".join(map(str, input_shape[1:]))
            problem = f"its convolutions leave nothing of images of {size}"
            raise InputError("model.kind", "lenet", problem, "Use mlp, or larger images.")
    dense: tuple[Layer, ...]
    if pooling == "max":
        dense = (
            *(Flatten(), Dense("fc1", prod(shape), 120), ReLU()),
            *(Dense("fc2", 120, 84), ReLU()),
            Dense("fc3", 84, num_outputs),
        )
    else:
        dense = (
            *(Flatten(), Dense("fc1", prod(shape), 128), ReLU()),
            Dense("fc2", 128, num_outputs),
        )
    draw = xavier if pooling == "max" else gaussian  # as each chapter does
    return Sequential((*convolved, *dense), input_shape, draw)
