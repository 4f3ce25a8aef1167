"""The Paddle adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockstep.contract import ContractOps
from lockstep.frameworks import linear_sgd
from lockstep.frameworks.eager import EagerProgram
from lockstep.frameworks.paddle.linear_sgd import LinearSGDProgram
from lockstep.frameworks.paddle.module import module_program
from lockstep.frameworks.paddle.ops import PaddleOps
from lockstep.frameworks.paddle.quiet import paddle
from lockstep.frameworks.protocol import Program
from lockstep.frameworks.replicated import COPIES, refuse_several, side_by_side

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


class PaddleFramework:
    name = "paddle"
    several = COPIES

    def version(self) -> str:
        return str(paddle.__version__)

    def devices(self) -> list[str]:
        return ["cpu", *(f"gpu:{i}" for i in range(paddle.device.cuda.device_count()))]

    def show_devices(self, count: int) -> None:
        """There are as many as there are copies."""

    def ops(self, precision: str) -> ContractOps:
        return ContractOps(self.kernels(precision))

    def kernels(self, precision: str, fused: bool = True) -> PaddleOps:
        return PaddleOps(precision, fused)

    def compile(self, task: Task, spec: RunSpec) -> Program:
        ops = self.kernels(spec.precision, spec.fused)
        if task.native is not None or spec.style == "concise":
            refuse_several(spec, "paddle.nn's layers")
            return module_program(ops, task, spec)
        if spec.fused and spec.devices == 1 and linear_sgd.applies(task, spec):
            return LinearSGDProgram(ops, task, spec)
        # to_static(step, full_graph=True) walks the same path: airfoil at a quarter of the speed,
        # LeNet at the same, the GRU a tenth faster after six seconds of compiling
        fused = ("fused gru",) if spec.fused and spec.model.kind == "gru" else ()
        notes = ("eager steps: paddle.jit is no faster", *fused)
        if spec.devices > 1:
            return side_by_side(ops, task, spec, paddle.clone, notes)
        return EagerProgram(ops, task, spec, notes=notes)


framework = PaddleFramework()
