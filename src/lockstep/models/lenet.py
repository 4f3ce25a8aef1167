"""LeNet in the two forms of the chapters.

`max`: conv 6@5 (padding 2), ReLU, max-pool 2, conv 16@5, ReLU, max-pool 2, 120, 84, 10.
`avg`: conv 20@3, ReLU, avg-pool 2, conv 50@5, ReLU, avg-pool 2, 128, 10.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockstep.models.model import draw_weights, gaussian, xavier

if TYPE_CHECKING:
    from lockstep.ops import Array, Arrays, Ops, Weights

_SHAPES: dict[str, dict[str, tuple[int, ...]]] = {
    "max": {
        "conv1_w": (6, 1, 5, 5),
        "conv1_b": (6,),
        "conv2_w": (16, 6, 5, 5),
        "conv2_b": (16,),
        "fc1_w": (400, 120),
        "fc1_b": (120,),
        "fc2_w": (120, 84),
        "fc2_b": (84,),
        "fc3_w": (84, 10),
        "fc3_b": (10,),
    },
    "avg": {
        "conv1_w": (20, 1, 3, 3),
        "conv1_b": (20,),
        "conv2_w": (50, 20, 5, 5),
        "conv2_b": (50,),
        "fc1_w": (800, 128),
        "fc1_b": (128,),
        "fc2_w": (128, 10),
        "fc2_b": (10,),
    },
}


def conv_max_pool(ops: Ops, x: Array, w: Array, b: Array, padding: int) -> Array:
    """Convolution, ReLU and max-pooling by 2.

    ReLU is increasing, so it commutes with max: after pooling it touches a quarter.
    """
    return ops.relu(ops.max_pool2d(ops.conv2d(x, w, b, padding), 2))


def conv_avg_pool(ops: Ops, x: Array, w: Array, b: Array, padding: int) -> Array:
    """Convolution, ReLU and average-pooling by 2."""
    return ops.avg_pool2d(ops.relu(ops.conv2d(x, w, b, padding)), 2)


_POOLED = {"max": ("conv_max_pool", conv_max_pool), "avg": ("conv_avg_pool", conv_avg_pool)}


@dataclass(frozen=True)
class Convolution:
    """pool(relu(conv2d(x))) by 2: (B, C, H, W) -> (B, O, H', W'). Output channels know nothing of
    each other: a part of the kernels gives a part of the result."""

    name: str
    pooling: str
    padding: int = 0

    def __call__(self, ops: Ops, x: Array, w: Array, b: Array) -> Array:
        name, plain = _POOLED[self.pooling]
        return ops.fused.get(name, plain)(ops, x, w, b, self.padding)


@dataclass(frozen=True)
class FullyConnected:
    """relu(x w + b), images flattened, or without ReLU: (B, I) -> (B, O)."""

    name: str
    relu: bool = True

    def __call__(self, ops: Ops, x: Array, w: Array, b: Array) -> Array:
        return self.activate(ops, self.flatten(ops, x, w) @ w + b)

    def flatten(self, ops: Ops, x: Array, w: Array) -> Array:
        return x if len(x.shape) == 2 else ops.reshape(x, (x.shape[0], w.shape[0]))

    def activate(self, ops: Ops, h: Array) -> Array:
        return ops.relu(h) if self.relu else h


Layer = Convolution | FullyConnected
_LAYERS: dict[str, tuple[Layer, ...]] = {
    "max": (
        Convolution("conv1", "max", padding=2),
        Convolution("conv2", "max"),
        FullyConnected("fc1"),
        FullyConnected("fc2"),
        FullyConnected("fc3", relu=False),
    ),
    "avg": (
        Convolution("conv1", "avg"),
        Convolution("conv2", "avg"),
        FullyConnected("fc1"),
        FullyConnected("fc2", relu=False),
    ),
}


@dataclass(frozen=True)
class LeNetModel:
    """x (B, 28, 28) -> scores (B, 10)."""

    pooling: str

    @property
    def layers(self) -> tuple[Layer, ...]:
        """In order; the weights of each are `name`_w and `name`_b."""
        return _LAYERS[self.pooling]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of the weights, by name."""
        return dict(_SHAPES[self.pooling])

    def initial_weights(self, seed: int) -> Arrays:
        draw = xavier if self.pooling == "max" else gaussian  # as each chapter does
        return draw_weights(_SHAPES[self.pooling], draw, seed)

    def carry_shapes(self, batch_size: int) -> dict[str, tuple[int, ...]]:
        return {}

    def apply(self, ops: Ops, w: Weights, x: Array, carry: Weights) -> tuple[Array, Weights]:
        h = ops.reshape(x, (x.shape[0], 1, 28, 28))
        for layer in self.layers:
            h = layer(ops, h, w[f"{layer.name}_w"], w[f"{layer.name}_b"])
        return h, carry
