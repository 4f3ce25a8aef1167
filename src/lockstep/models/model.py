"""What a model is: initial weights from NumPy, and one function over Ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from lockstep.data.random import generator
from lockstep.errors import InputError

if TYPE_CHECKING:
    from lockstep.ops import Array, Arrays, Ops, Weights

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


class Model(Protocol):
    """A model written once. `apply` is pure: the same inputs give the same outputs."""

    @property
    def fused_parts(self) -> tuple[str, ...]:
        """The parts, by their names in `Ops.fused`, that an adapter may compute in one piece."""

    def initial_weights(self, seed: int) -> Arrays:
        """Canonical float64 weights, by name, drawn by NumPy from the seed."""

    def carry_shapes(self, batch_size: int) -> dict[str, tuple[int, ...]]:
        """The state carried from batch to batch, by name; {} for models without."""

    def apply(self, ops: Ops, w: Weights, x: Array, carry: Weights) -> tuple[Array, Weights]:
        """Outputs, and the carried state after them."""


def gaussian(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """N(0, 0.01^2) for weights, zero for biases (one axis)."""
    return np.zeros(shape) if len(shape) == 1 else 0.01 * rng.standard_normal(shape)


def xavier(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """U(-a, a) with a = sqrt(6 / (fan_in + fan_out)) for weights, zero for biases.

    Linear weights are (in, out); kernels (out, in, h, w), whose fans count h w positions.
    """
    if len(shape) == 1:
        return np.zeros(shape)
    positions = int(np.prod(shape[2:]))
    limit = np.sqrt(6 / (positions * (shape[0] + shape[1])))
    return rng.uniform(-limit, limit, shape)


def draw_weights(shapes: dict[str, tuple[int, ...]], draw: Draw, seed: int) -> Arrays:
    """One array per name, each from its own stream, so that adding one changes no other."""
    weights: Arrays = {}
    for name, shape in shapes.items():
        try:
            weights[name] = draw(generator(seed, f"initial weights {name}"), shape)
        except MemoryError as error:
            raise InputError(
                f"weight {name}", shape, "does not fit into the memory", "Give a smaller model."
            ) from error
    return weights
