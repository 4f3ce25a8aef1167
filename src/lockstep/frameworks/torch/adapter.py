"""The PyTorch adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from lockstep.frameworks.fused import (
    LinearSGDProgram,
    fused_notes,
    is_linear_sgd,
    unfused_notes,
)
from lockstep.frameworks.programs import StepProgram
from lockstep.frameworks.protocol import Framework, Program
from lockstep.frameworks.torch.fused.linear_sgd import TorchLinearSGD
from lockstep.frameworks.torch.module import module_program
from lockstep.frameworks.torch.ops import TorchOps

if TYPE_CHECKING:
    from lockstep.frameworks.device_share import Share
    from lockstep.processes.collective import Collective
    from lockstep.processes.ranks import Rank
    from lockstep.spec import RunSpec
    from lockstep.task import Task


def devices() -> list[str]:
    return ["cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]


def join(rank: Rank) -> Collective:
    from lockstep.frameworks.torch.devices import join_processes

    return join_processes(rank)


def program(ops: TorchOps, task: Task, spec: RunSpec) -> Program:
    if is_linear_sgd(task, spec):
        return LinearSGDProgram(ops, task, spec, TorchLinearSGD)
    several = (f"{spec.devices} processes",) if spec.devices > 1 else ()
    unfused = unfused_notes(task, spec)
    notes = ("eager steps", *fused_notes(ops, task.model), *unfused, *several)
    return StepProgram(ops, task, spec, share=_share(ops, spec), notes=notes)


def layers_program(ops: TorchOps, task: Task, spec: RunSpec) -> Program:
    return module_program(ops, task, spec, _share(ops, spec))


def _share(ops: TorchOps, spec: RunSpec) -> Share | None:
    if spec.devices == 1:
        return None
    from lockstep.frameworks.torch.devices import process_share

    return process_share(ops, spec.batch_size, spec.devices)


framework = Framework(
    name="torch",
    version=str(torch.__version__),
    several="a process for each",
    devices=devices,
    kernels=TorchOps,
    program=program,
    module_program=layers_program,
    join=join,
)
