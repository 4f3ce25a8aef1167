"""The Paddle adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import paddle

from lockstep.frameworks.fused import (
    LinearSGDProgram,
    fused_notes,
    is_linear_sgd,
    unfused_notes,
)
from lockstep.frameworks.paddle.fused import PaddleLinearSGD
from lockstep.frameworks.paddle.module import module_program
from lockstep.frameworks.paddle.ops import PaddleOps
from lockstep.frameworks.programs import StepProgram
from lockstep.frameworks.protocol import Framework, Program
from lockstep.frameworks.replicas import COPIES, copies_program, make_replica

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


def devices() -> list[str]:
    return ["cpu", *(f"gpu:{i}" for i in range(paddle.device.cuda.device_count()))]


def program(ops: PaddleOps, task: Task, spec: RunSpec) -> Program:
    if is_linear_sgd(task, spec):
        return LinearSGDProgram(ops, task, spec, PaddleLinearSGD)
    # to_static(step, full_graph=True) computes the same: airfoil at a quarter of the speed, LeNet
    # at the same, the GRU a tenth faster after six seconds of compiling
    notes = ("eager steps: paddle.jit is no faster", *fused_notes(ops, task.model))
    notes += unfused_notes(task, spec)
    if spec.devices > 1:
        return copies_program(make_replica(ops, task, spec, paddle.clone), task, spec, notes)
    return StepProgram(ops, task, spec, notes=notes)


framework = Framework(
    name="paddle",
    version=str(paddle.__version__),
    several=COPIES,
    devices=devices,
    kernels=PaddleOps,
    program=program,
    module_program=module_program,
    one_device_layers="paddle.nn's layers",
)
