"""The Apache MXNet adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lockstep.frameworks.eager import EagerProgram
from lockstep.frameworks.mxnet.module import module_program
from lockstep.frameworks.mxnet.ops import MxnetOps
from lockstep.frameworks.mxnet.quiet import mx
from lockstep.frameworks.mxnet.recording import compile_function
from lockstep.frameworks.protocol import Program, Weights
from lockstep.frameworks.step import Update, make_step, make_sums, rule_update
from lockstep.models.own import OwnNet

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


class MxnetFramework:
    name = "mxnet"
    requirement = "lockstep-train[mxnet]"

    def version(self) -> str:
        return str(mx.__version__)

    def devices(self) -> list[str]:
        return ["cpu(0)", *(f"gpu({i})" for i in range(mx.context.num_gpus()))]

    def ops(self, precision: str, fused: bool = True, device: mx.Context | None = None) -> MxnetOps:
        return MxnetOps(precision, fused, device)

    def compile(self, task: Task, spec: RunSpec) -> Program:
        if task.native is not None or spec.style == "concise":
            return module_program(self.ops(spec.precision), task, spec)
        if isinstance(task.model, OwnNet):
            # a person's function may read numbers out of arrays, which a recording would keep
            notes = ("eager steps", "an own function is not compiled")
            return EagerProgram(self.ops(spec.precision, spec.fused), task, spec, notes=notes)
        ops = MxnetOps(spec.precision, spec.fused, compiled=True)
        return EagerProgram(
            ops,
            task,
            spec,
            step=make_step(ops, task, spec, update=_compiled_update(ops, spec)),
            sums=compile_function(ops, make_sums(ops, task)),
            notes=("compiled steps", *(["fused gru"] if _is_fused(spec) else [])),
        )


def _is_fused(spec: RunSpec) -> bool:
    return spec.fused and spec.model.kind == "gru"


def _compiled_update(ops: MxnetOps, spec: RunSpec) -> Update:
    rule = rule_update(ops, spec)
    run = compile_function(ops, lambda w, grads, slots, numbers: rule(w, grads, slots, numbers, 0))

    def update(
        w: Weights, grads: Weights, slots: Weights, numbers: list[float], t: Any
    ) -> tuple[Weights, Weights]:
        # asarray would wait for the steps under way
        arrays = [mx.np.full((), n, dtype=ops.dtype, ctx=ops.device) for n in numbers]
        new: tuple[Weights, Weights] = run(w, grads, slots, arrays)
        return new

    return update


framework = MxnetFramework()
