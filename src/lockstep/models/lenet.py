"""LeNet in the two forms of the chapters."""

from __future__ import annotations

from lockstep.errors import InputError
from lockstep.models.layers import AvgPool, Convolution, Dense, Flatten, MaxPool, ReLU, Sequential
from lockstep.models.model import gaussian, xavier
from lockstep.spec import LeNet

_MAX = (
    *(Convolution("conv1", 1, 6, kernel=5, padding=2), ReLU(), MaxPool(2)),
    *(Convolution("conv2", 6, 16, kernel=5), ReLU(), MaxPool(2)),
    *(Flatten(), Dense("fc1", 400, 120), ReLU()),
    *(Dense("fc2", 120, 84), ReLU()),
    Dense("fc3", 84, 10),
)
_AVG = (
    *(Convolution("conv1", 1, 20, kernel=3), ReLU(), AvgPool(2)),
    *(Convolution("conv2", 20, 50, kernel=5), ReLU(), AvgPool(2)),
    *(Flatten(), Dense("fc1", 800, 128), ReLU()),
    Dense("fc2", 128, 10),
)


def build(part: LeNet, input_shape: tuple[int, ...], num_outputs: int) -> Sequential:
    """The form with that pooling: x (B, 28, 28) -> scores (B, 10)."""
    if input_shape != (28, 28) or num_outputs != 10:
        problem = "needs images of 28 x 28 in ten classes"
        raise InputError("model.kind", part.kind, problem, "Use mlp.")
    return lenet(part.pooling)


def lenet(pooling: str) -> Sequential:
    """LeNet with max-pooling (6 and 16 channels) or avg (20 and 50).

    >>> [block.name for block in lenet("avg").blocks]
    ['conv1', 'conv2', 'fc1', 'fc2']
    """
    layers, draw = (_MAX, xavier) if pooling == "max" else (_AVG, gaussian)  # as each chapter does
    return Sequential(layers, (1, 28, 28), draw)
