"""The MindSpore adapter."""

from __future__ import annotations

import mindspore as ms
from mindspore.device_context import ascend, gpu

from lockstep.frameworks.mindspore.module import module_program
from lockstep.frameworks.mindspore.ops import MindSporeOps
from lockstep.frameworks.mindspore.program import in_turn, program
from lockstep.frameworks.protocol import Framework
from lockstep.frameworks.replicas import COPIES


def devices() -> list[str]:
    found = (("GPU", gpu), ("Ascend", ascend))
    others = [
        f"{name}:{i}"
        for name, kind in found
        if kind.is_available()
        for i in range(kind.device_count())
    ]
    return ["CPU", *others]


def kernels(precision: str, fused: bool = True) -> MindSporeOps:
    return MindSporeOps(precision)


framework = Framework(
    name="mindspore",
    version=str(ms.__version__),
    several=COPIES,
    devices=devices,
    kernels=kernels,
    program=in_turn(program),
    module_program=in_turn(module_program),
    one_device_layers="mindspore.nn's layers",
)
