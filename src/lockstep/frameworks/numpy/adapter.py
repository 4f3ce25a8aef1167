"""The NumPy adapter: the oracle, with gradient rules of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lockstep.contract import ContractOps
from lockstep.errors import InputError
from lockstep.frameworks.eager import EagerProgram
from lockstep.frameworks.numpy.ops import NumpyOps
from lockstep.frameworks.protocol import Program
from lockstep.frameworks.replicated import COPIES, side_by_side

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


class NumpyFramework:
    name = "numpy"
    several = COPIES

    def version(self) -> str:
        return np.__version__

    def devices(self) -> list[str]:
        return ["cpu"]

    def show_devices(self, count: int) -> None:
        """There are as many as there are copies."""

    def ops(self, precision: str) -> ContractOps:
        return ContractOps(self.kernels(precision))

    def kernels(self, precision: str, fused: bool = True) -> NumpyOps:
        return NumpyOps(precision)

    def compile(self, task: Task, spec: RunSpec) -> Program:
        if task.native is not None:
            kind = type(task.native).__name__
            raise InputError("model", kind, "is not NumPy's", "Run it in its own framework.")
        if spec.style == "concise":
            raise InputError(
                "style", "concise", "numpy has no layers of its own", "Use --style scratch."
            )
        ops = self.kernels(spec.precision)
        if spec.devices > 1:
            return side_by_side(ops, task, spec, np.copy, ("eager steps",))
        return EagerProgram(ops, task, spec)


framework = NumpyFramework()
