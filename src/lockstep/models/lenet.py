"""LeNet in the two forms of the chapters.

`max`: conv 6@5 (padding 2), ReLU, max-pool 2, conv 16@5, ReLU, max-pool 2, 120, 84, 10.
`avg`: conv 20@3, ReLU, avg-pool 2, conv 50@5, ReLU, avg-pool 2, 128, 10.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockstep.models.model import draw_weights, gaussian, xavier

if TYPE_CHECKING:
    from lockstep.frameworks.protocol import Array, Arrays, Ops, Weights

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


@dataclass(frozen=True)
class LeNetModel:
    """x (B, 28, 28) -> scores (B, 10)."""

    pooling: str

    def initial_weights(self, seed: int) -> Arrays:
        draw = xavier if self.pooling == "max" else gaussian  # as each chapter does
        return draw_weights(_SHAPES[self.pooling], draw, seed)

    def carry_shapes(self, batch_size: int) -> dict[str, tuple[int, ...]]:
        return {}

    def apply(self, ops: Ops, w: Weights, x: Array, carry: Weights) -> tuple[Array, Weights]:
        h = ops.reshape(x, (x.shape[0], 1, 28, 28))
        if self.pooling == "max":
            layer = ops.fused.get("conv_max_pool", conv_max_pool)
            h = layer(ops, h, w["conv1_w"], w["conv1_b"], 2)
            h = layer(ops, h, w["conv2_w"], w["conv2_b"], 0)
            hidden = ["fc1", "fc2"]
        else:
            h = ops.avg_pool2d(ops.relu(ops.conv2d(h, w["conv1_w"], w["conv1_b"])), 2)
            h = ops.avg_pool2d(ops.relu(ops.conv2d(h, w["conv2_w"], w["conv2_b"])), 2)
            hidden = ["fc1"]
        h = ops.reshape(h, (x.shape[0], w["fc1_w"].shape[0]))
        for name in hidden:
            h = ops.relu(h @ w[f"{name}_w"] + w[f"{name}_b"])
        last = f"fc{len(hidden) + 1}"
        return h @ w[f"{last}_w"] + w[f"{last}_b"], carry
