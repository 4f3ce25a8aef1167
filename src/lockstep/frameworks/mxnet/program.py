"""The program of a run: steps whose gradient and update are compiled, on one device or several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockstep.frameworks.fused import fused_notes
from lockstep.frameworks.mxnet.devices import contexts_program
from lockstep.frameworks.mxnet.ops import MxnetOps
from lockstep.frameworks.mxnet.recording import compile_function, compiled_update
from lockstep.frameworks.programs import StepProgram
from lockstep.frameworks.step import make_step, make_sums
from lockstep.task import OwnNet

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


def program(ops: MxnetOps, task: Task, spec: RunSpec) -> StepProgram:
    own = isinstance(task.model, OwnNet)
    if own:
        notes: tuple[str, ...] = ("eager steps", "an own function is not compiled")
    else:
        notes = ("compiled steps", *fused_notes(ops, task.model))
    if spec.devices > 1:
        return contexts_program(task, spec, notes)
    if own:
        return StepProgram(ops, task, spec, notes=notes)
    ops = MxnetOps(spec.precision, spec.fused, compiled=True)
    return StepProgram(
        ops,
        task,
        spec,
        step=make_step(ops, task, spec, update=compiled_update(ops, spec)),
        sums=compile_function(ops, make_sums(ops, task)),
        notes=notes,
    )
