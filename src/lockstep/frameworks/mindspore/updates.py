"""MindSporeModule's optimizers: MindSpore's own, and our rules where it has none.

MindSpore's optimizers compute in float32, or refuse float64 parameters. Those of mindspore.nn are
other ones: Adagrad has no epsilon, RMSProp has it under the root, Adam before the correction,
AdamWeightDecay has no correction, and Momentum looks ahead otherwise than Nesterov's.
"""

from __future__ import annotations

from collections.abc import Mapping

import mindspore as ms
import numpy as np

from lockstep import optimizers
from lockstep.frameworks.mindspore import concise
from lockstep.frameworks.mindspore.arrays import Array
from lockstep.frameworks.mindspore.ops import MindSporeOps
from lockstep.ops import Weights
from lockstep.spec.parts import OptimizerPart

Parameters = Mapping[str, ms.Parameter]


class OwnOptimizer:
    """An optimizer of mindspore.experimental.optim."""

    def __init__(self, ops: MindSporeOps, parameters: Parameters, part: OptimizerPart) -> None:
        self.note = f"mindspore.experimental.optim ({part.kind})"
        self._ops, self._part = ops, part
        self._optimizer = concise.optimizer(part, list(parameters.values()))
        self._slots: Parameters = {
            f"{slot}/{name}": own
            for slot, native in concise.SLOTS.get(part.kind, {}).items()
            for name, own in zip(parameters, getattr(self._optimizer, native), strict=True)
        }

    def install(self, slots: Weights, step: int) -> None:
        assign(self._slots, slots)
        if self._part.kind in ("adam", "adamw"):
            ms.ops.assign(self._optimizer.state_step, ms.Tensor(step, ms.int32))
        if self._part.kind in ("sgd", "momentum", "nesterov"):
            for first in self._optimizer.stat:  # not the first update: the velocity is there
                ms.ops.assign(first, ms.ops.zeros_like(first))

    def extract(self) -> Weights:
        return copies(self._ops, self._slots)

    def update(self, grads: Weights, lr: float) -> None:
        ms.ops.assign(self._optimizer.lrs[0], ms.Tensor(lr, ms.float32))
        self._optimizer(tuple(g.tensor for g in grads.values()))


class RuleOptimizer:
    """Our rule on MindSpore's parameters."""

    def __init__(self, ops: MindSporeOps, parameters: Parameters, part: OptimizerPart) -> None:
        self.note = f"our own {part.kind}: mindspore has no optimizers in float64"
        self._ops, self._parameters, self._part = ops, parameters, part

    def install(self, slots: Weights, step: int) -> None:
        self._slots, self._step = dict(slots), step

    def extract(self) -> Weights:
        return self._slots

    def update(self, grads: Weights, lr: float) -> None:
        weights = {n: Array(self._ops, p.value()) for n, p in self._parameters.items()}
        (numbers,) = optimizers.step_numbers(self._part, np.array([lr]), self._step).tolist()
        weights, self._slots = optimizers.update(
            self._ops, self._part, weights, grads, self._slots, numbers
        )
        assign(self._parameters, weights)
        self._step += 1


def assign(parameters: Parameters, arrays: Weights) -> None:
    """In place: after set_data a compiled optimizer would go on with the memory from before."""
    for name, parameter in parameters.items():
        ms.ops.assign(parameter, arrays[name].tensor)


def copies(ops: MindSporeOps, parameters: Parameters) -> Weights:
    return {n: Array(ops, ms.Tensor(p.asnumpy().copy())) for n, p in parameters.items()}
