"""The TensorFlow adapter."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # 2: errors only; read once, by the import

os.environ["KERAS_BACKEND"] = "tensorflow"  # whatever else a person uses Keras with

import tensorflow as tf

from lockstep.contract import ContractOps
from lockstep.frameworks.protocol import Program
from lockstep.frameworks.step import initial_snapshot
from lockstep.frameworks.tensorflow.logical import show_logical
from lockstep.frameworks.tensorflow.ops import TensorFlowOps
from lockstep.frameworks.tensorflow.program import tensorflow_program
from lockstep.models import Model

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


class TensorFlowFramework:
    name = "tensorflow"
    several = "in one process: logical devices"

    def version(self) -> str:
        return str(tf.__version__)

    def devices(self) -> list[str]:
        kinds = ("CPU", "GPU")
        return [device.name for kind in kinds for device in tf.config.list_logical_devices(kind)]

    def show_devices(self, count: int) -> None:
        show_logical(count)

    def ops(self, precision: str) -> ContractOps:
        return ContractOps(self.kernels(precision))

    def kernels(self, precision: str, fused: bool = True) -> TensorFlowOps:
        return TensorFlowOps(precision, fused)

    def compile(self, task: Task, spec: RunSpec) -> Program:
        self.show_devices(spec.devices)
        ops = self.kernels(spec.precision, spec.fused)
        if task.native is not None or spec.style == "concise":
            # Keras takes a second to import: only for the runs that use it
            from lockstep.frameworks.tensorflow.module import module_program

            return module_program(ops, task, spec)
        return tensorflow_program(
            ops,
            task,
            spec,
            initial=initial_snapshot(task, spec),
            notes=_fused_parts(task.model) if spec.fused else (),
        )


def _fused_parts(model: Model) -> tuple[str, ...]:
    notes = {"conv_max_pool": "fused convolution and pooling", "symbol_gru": "fused gru"}
    return tuple(notes[name] for name in model.fused_parts if name in notes)


framework = TensorFlowFramework()
