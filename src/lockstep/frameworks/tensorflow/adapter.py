"""The TensorFlow adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from lockstep.frameworks.fused import fused_notes
from lockstep.frameworks.protocol import Framework, Program
from lockstep.frameworks.step import initial_snapshot
from lockstep.frameworks.tensorflow.devices import show_devices
from lockstep.frameworks.tensorflow.ops import TensorFlowOps
from lockstep.frameworks.tensorflow.program import tensorflow_program

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


def devices() -> list[str]:
    kinds = ("CPU", "GPU")
    return [device.name for kind in kinds for device in tf.config.list_logical_devices(kind)]


def program(ops: TensorFlowOps, task: Task, spec: RunSpec) -> Program:
    initial, notes = initial_snapshot(task, spec), fused_notes(ops, task.model)
    return tensorflow_program(ops, task, spec, initial=initial, notes=notes)


def layers_program(ops: TensorFlowOps, task: Task, spec: RunSpec) -> Program:
    # Keras takes a second to import
    from lockstep.frameworks.tensorflow.module import module_program

    return module_program(ops, task, spec)


framework = Framework(
    name="tensorflow",
    version=str(tf.__version__),
    several="in one process: logical devices",
    devices=devices,
    kernels=TensorFlowOps,
    program=program,
    module_program=layers_program,
    show_devices=show_devices,
)
