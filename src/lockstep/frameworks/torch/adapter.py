"""The PyTorch adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from lockstep.frameworks import linear_sgd
from lockstep.frameworks.eager import EagerProgram
from lockstep.frameworks.protocol import Program
from lockstep.frameworks.torch.linear_sgd import LinearSGDProgram
from lockstep.frameworks.torch.module import module_program
from lockstep.frameworks.torch.ops import TorchOps

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


class TorchFramework:
    name = "torch"
    requirement = "lockstep-train[torch]"

    def version(self) -> str:
        return str(torch.__version__)

    def devices(self) -> list[str]:
        return ["cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]

    def ops(self, precision: str, fused: bool = True) -> TorchOps:
        return TorchOps(precision, fused)

    def compile(self, task: Task, spec: RunSpec) -> Program:
        ops = self.ops(spec.precision, spec.fused)
        if task.native is not None or spec.style == "concise":
            return module_program(ops, task, spec)
        if spec.fused and linear_sgd.applies(task, spec):
            return LinearSGDProgram(ops, task, spec)
        return EagerProgram(ops, task, spec, notes=self._notes(task, spec))

    def _notes(self, task: Task, spec: RunSpec) -> tuple[str, ...]:
        if not spec.fused:
            return ("eager steps",)
        paths = {"gru": "fused gru", "lenet": "fused convolution and pooling"}
        return ("eager steps", *([paths[spec.model.kind]] if spec.model.kind in paths else []))


framework = TorchFramework()
