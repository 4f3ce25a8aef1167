"""The NumPy adapter: the oracle, with gradient rules of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lockstep.errors import InputError
from lockstep.frameworks.numpy.ops import NumpyOps
from lockstep.frameworks.programs import StepProgram
from lockstep.frameworks.protocol import Framework, Program
from lockstep.frameworks.replicas import COPIES, copies_program, make_replica

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


def kernels(precision: str, fused: bool = True) -> NumpyOps:
    return NumpyOps(precision)


def program(ops: NumpyOps, task: Task, spec: RunSpec) -> Program:
    if spec.devices > 1:
        replica = make_replica(ops, task, spec, np.copy)
        return copies_program(replica, task, spec, ("eager steps",))
    return StepProgram(ops, task, spec)


def no_layers(ops: NumpyOps, task: Task, spec: RunSpec) -> Program:
    if task.native is not None:
        kind = type(task.native).__name__
        raise InputError("model", kind, "is not NumPy's", "Run it in its own framework.")
    problem, remedy = "numpy has no layers of its own", "Use --style scratch."
    raise InputError("style", "concise", problem, remedy)


framework = Framework(
    name="numpy",
    version=np.__version__,
    several=COPIES,
    devices=lambda: ["cpu"],
    kernels=kernels,
    program=program,
    module_program=no_layers,
)
