"""The Apache MXNet adapter."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lockstep.contract import ContractOps
from lockstep.frameworks.eager import EagerProgram
from lockstep.frameworks.mxnet.contexts import compiled_update, contexts_program
from lockstep.frameworks.mxnet.module import module_program
from lockstep.frameworks.mxnet.ops import MxnetOps
from lockstep.frameworks.mxnet.quiet import mx
from lockstep.frameworks.mxnet.recording import compile_function
from lockstep.frameworks.protocol import Program
from lockstep.frameworks.replicated import refuse_several
from lockstep.frameworks.step import make_step, make_sums
from lockstep.task import OwnNet

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


class MxnetFramework:
    name = "mxnet"
    several = "in one process: contexts cpu(0), cpu(1), ..."

    def version(self) -> str:
        return str(mx.__version__)

    def devices(self) -> list[str]:
        return ["cpu(0)", *(f"gpu({i})" for i in range(mx.context.num_gpus()))]

    def show_devices(self, count: int) -> None:
        # all CPU contexts take their scratch memory in turn from as many places, four by default,
        # and wait for each other there; read when something is first computed
        if count > 1:
            os.environ.setdefault("MXNET_CPU_TEMP_COPY", str(32 * count))

    def ops(self, precision: str) -> ContractOps:
        return ContractOps(self.kernels(precision))

    def kernels(self, precision: str, fused: bool = True) -> MxnetOps:
        return MxnetOps(precision, fused)

    def compile(self, task: Task, spec: RunSpec) -> Program:
        if task.native is not None or spec.style == "concise":
            refuse_several(spec, "gluon's layers")
            return module_program(self.kernels(spec.precision), task, spec)
        if spec.devices > 1:
            self.show_devices(spec.devices)
            return contexts_program(task, spec, _notes(task, spec))
        if isinstance(task.model, OwnNet):
            ops = self.kernels(spec.precision, spec.fused)
            return EagerProgram(ops, task, spec, notes=_notes(task, spec))
        ops = MxnetOps(spec.precision, spec.fused, compiled=True)
        return EagerProgram(
            ops,
            task,
            spec,
            step=make_step(ops, task, spec, update=compiled_update(ops, spec)),
            sums=compile_function(ops, make_sums(ops, task)),
            notes=_notes(task, spec),
        )


def _notes(task: Task, spec: RunSpec) -> tuple[str, ...]:
    if isinstance(task.model, OwnNet):
        return ("eager steps", "an own function is not compiled")
    return ("compiled steps", *(["fused gru"] if spec.fused and spec.model.kind == "gru" else []))


framework = MxnetFramework()
