"""NumPy's kernels, and a program with a note of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.frameworks.numpy.adapter import framework as oracle
from lockstep.frameworks.numpy.ops import NumpyOps
from lockstep.frameworks.programs import StepProgram
from lockstep.frameworks.protocol import Framework, Program


def program(ops: NumpyOps, task: Any, spec: Any) -> Program:
    return StepProgram(ops, task, spec, notes=("eager steps of numpy2",))


framework = Framework(
    name="numpy2",
    version=np.__version__,
    several="in one process: none yet",
    devices=lambda: ["cpu"],
    kernels=oracle.kernels,
    program=program,
    module_program=oracle.module_program,
)
