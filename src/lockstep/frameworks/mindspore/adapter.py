"""The MindSpore adapter."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

os.environ.setdefault("GLOG_v", "4")  # its errors come as exceptions: no log lines beside them

import mindspore as ms
from mindspore.device_context import ascend, gpu
from mindspore.device_context.cpu import op_tuning

from lockstep.contract import ContractOps
from lockstep.frameworks.eager import EagerProgram
from lockstep.frameworks.mindspore.graph import graph_replica, graph_step
from lockstep.frameworks.mindspore.module import module_program
from lockstep.frameworks.mindspore.ops import MindSporeOps
from lockstep.frameworks.mindspore.serial import TURN, SerialProgram
from lockstep.frameworks.protocol import Program
from lockstep.frameworks.replicated import (
    COPIES,
    copies_note,
    refuse_several,
    replicated_program,
)

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task

ms.set_device("CPU")
ms.runtime.launch_blocking()  # handing small operations to other threads costs more than they do
with suppress(RuntimeError):  # these can be set once: what a person has set before stays
    ms.runtime.dispatch_threads_num(1)
with suppress(RuntimeError):
    op_tuning.threads_num(int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1))  # not 25


class MindSporeFramework:
    name = "mindspore"
    several = COPIES

    def version(self) -> str:
        return str(ms.__version__)

    def devices(self) -> list[str]:
        found = (("GPU", gpu), ("Ascend", ascend))
        others = [
            f"{name}:{i}"
            for name, kind in found
            if kind.is_available()
            for i in range(kind.device_count())
        ]
        return ["CPU", *others]

    def show_devices(self, count: int) -> None:
        """There are as many as there are copies."""

    def ops(self, precision: str) -> ContractOps:
        return ContractOps(self.kernels(precision))

    def kernels(self, precision: str, fused: bool = True) -> MindSporeOps:
        return MindSporeOps(precision)

    def compile(self, task: Task, spec: RunSpec) -> Program:
        with TURN:
            return SerialProgram(self._compile(task, spec))

    def _compile(self, task: Task, spec: RunSpec) -> Program:
        ops = self.kernels(spec.precision)
        if task.native is not None or spec.style == "concise":
            refuse_several(spec, "mindspore.nn's layers")
            return module_program(ops, task, spec)
        if spec.devices > 1:
            replicas = [graph_replica(ops, task, spec)] * spec.devices
            notes = ("compiled gradients and updates", copies_note(spec))
            return replicated_program(replicas, task, spec, notes)
        return EagerProgram(
            ops,
            task,
            spec,
            step=graph_step(ops, task, spec),
            notes=("compiled steps",),
        )


framework = MindSporeFramework()
