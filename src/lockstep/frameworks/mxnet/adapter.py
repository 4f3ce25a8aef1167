"""The Apache MXNet adapter."""

from __future__ import annotations

import mxnet as mx

from lockstep.frameworks.mxnet.devices import show_devices
from lockstep.frameworks.mxnet.module import module_program
from lockstep.frameworks.mxnet.ops import MxnetOps
from lockstep.frameworks.mxnet.program import program
from lockstep.frameworks.protocol import Framework


def devices() -> list[str]:
    return ["cpu(0)", *(f"gpu({i})" for i in range(mx.context.num_gpus()))]


framework = Framework(
    name="mxnet",
    version=str(mx.__version__),
    several="in one process: contexts cpu(0), cpu(1), ...",
    devices=devices,
    kernels=MxnetOps,
    program=program,
    module_program=module_program,
    one_device_layers="gluon's layers",
    show_devices=show_devices,
)
