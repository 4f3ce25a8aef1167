"""A person's own model: `net(ops, w, x) -> outputs`, with its initial weights given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lockstep.contract import ContractOps
from lockstep.errors import InputError

if TYPE_CHECKING:
    from lockstep.ops import Array, Arrays, Ops, Weights


@dataclass(frozen=True)
class OwnNet:
    """A function over Ops with the weights it starts from."""

    function: Callable[[Any, Any, Any], Any]
    weights: dict[str, np.ndarray]

    def initial_weights(self, seed: int) -> Arrays:
        return {name: np.array(value, np.float64) for name, value in self.weights.items()}

    def carry_shapes(self, batch_size: int) -> dict[str, tuple[int, ...]]:
        return {}

    def apply(self, ops: Ops, w: Weights, x: Array, carry: Weights) -> tuple[Array, Weights]:
        own = ContractOps(ops, inside_net=True)
        weights = {name: own.wrap(value) for name, value in w.items()}
        return with_outputs(own.floating(self.function(own, weights, own.wrap(x))).native), carry


def with_outputs(outputs: Array) -> Array:
    """The outputs of a person's own model, which must have an axis of their own: (B, O)."""
    if len(outputs.shape) < 2:  # against targets (B, 1) they would spread to (B, B)
        raise InputError(
            "model",
            tuple(outputs.shape),
            "gives one number per example without an axis of its own",
            "Return (B, 1): keep the last axis.",
        )
    return outputs
