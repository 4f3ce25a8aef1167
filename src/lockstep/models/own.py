"""A person's own model: `net(ops, w, x) -> outputs`, with its initial weights given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lockstep.contract import Array as ContractArray
from lockstep.contract import ContractOps
from lockstep.models.fitting import with_outputs

if TYPE_CHECKING:
    from lockstep.ops import Array, Arrays, Ops, Weights


@dataclass(frozen=True)
class OwnNet:
    """A function over Ops with the weights it starts from."""

    function: Callable[[Any, Any, Any], Any]
    weights: dict[str, np.ndarray]
    fused_parts = ()

    def initial_weights(self, seed: int) -> Arrays:
        return {name: np.array(value, np.float64) for name, value in self.weights.items()}

    def carry_shapes(self, batch_size: int) -> dict[str, tuple[int, ...]]:
        return {}

    def apply(self, ops: Ops, w: Weights, x: Array, carry: Weights) -> tuple[Array, Weights]:
        own = ContractOps(ops, inside_net=True)
        weights = {name: own.wrap(value) for name, value in w.items()}
        outputs = self.function(own, weights, own.wrap(x))
        if isinstance(outputs, ContractArray):
            outputs = own.floating(outputs).native
        return with_outputs(outputs), carry
