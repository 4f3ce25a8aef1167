"""Models without state: linear and softmax regression, and the multilayer perceptron."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockstep.models.model import draw_weights, gaussian, xavier

if TYPE_CHECKING:
    from lockstep.ops import Array, Arrays, Ops, Weights


@dataclass(frozen=True)
class LinearNet:
    """y = x w + b on the flattened input: linear regression, and softmax regression's scores."""

    num_inputs: int
    num_outputs: int

    def initial_weights(self, seed: int) -> Arrays:
        shapes = {"w": (self.num_inputs, self.num_outputs), "b": (self.num_outputs,)}
        return draw_weights(shapes, gaussian, seed)

    def carry_shapes(self, batch_size: int) -> dict[str, tuple[int, ...]]:
        return {}

    def apply(self, ops: Ops, w: Weights, x: Array, carry: Weights) -> tuple[Array, Weights]:
        flat = ops.reshape(x, (x.shape[0], self.num_inputs))  # (B, I)
        return flat @ w["w"] + w["b"], carry


@dataclass(frozen=True)
class MLPNet:
    """Linear layers with ReLU between them: sizes (inputs, hidden ..., outputs)."""

    sizes: tuple[int, ...]

    def initial_weights(self, seed: int) -> Arrays:
        shapes: dict[str, tuple[int, ...]] = {}
        for i, (fan_in, fan_out) in enumerate(zip(self.sizes, self.sizes[1:], strict=False), 1):
            shapes |= {f"w{i}": (fan_in, fan_out), f"b{i}": (fan_out,)}
        return draw_weights(shapes, xavier, seed)

    def carry_shapes(self, batch_size: int) -> dict[str, tuple[int, ...]]:
        return {}

    def apply(self, ops: Ops, w: Weights, x: Array, carry: Weights) -> tuple[Array, Weights]:
        h = ops.reshape(x, (x.shape[0], self.sizes[0]))  # (B, I)
        last = len(self.sizes) - 1
        for i in range(1, last):
            h = ops.relu(h @ w[f"w{i}"] + w[f"b{i}"])
        return h @ w[f"w{last}"] + w[f"b{last}"], carry
