"""The PyTorch adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from lockstep.contract import ContractOps
from lockstep.frameworks import linear_sgd
from lockstep.frameworks.eager import EagerProgram
from lockstep.frameworks.protocol import Program
from lockstep.frameworks.torch.linear_sgd import LinearSGDProgram
from lockstep.frameworks.torch.module import module_program
from lockstep.frameworks.torch.ops import TorchOps

if TYPE_CHECKING:
    from lockstep.frameworks.share import Share
    from lockstep.processes.collective import Collective
    from lockstep.processes.ranks import Rank
    from lockstep.spec import RunSpec
    from lockstep.task import Task


class TorchFramework:
    name = "torch"
    several = "a process for each"

    def version(self) -> str:
        return str(torch.__version__)

    def devices(self) -> list[str]:
        return ["cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]

    def ops(self, precision: str) -> ContractOps:
        return ContractOps(self.kernels(precision))

    def kernels(self, precision: str, fused: bool = True) -> TorchOps:
        return TorchOps(precision, fused)

    def show_devices(self, count: int) -> None:
        """Nothing: each is a process."""

    def join(self, place: Rank) -> Collective:
        from lockstep.frameworks.torch.group import EngineCollective, join_group
        from lockstep.processes.ranks import patience

        join_group(place, patience())
        return EngineCollective()

    def compile(self, task: Task, spec: RunSpec) -> Program:
        ops = self.kernels(spec.precision, spec.fused)
        share = _share(ops, spec)
        if task.native is not None or spec.style == "concise":
            return module_program(ops, task, spec, share)
        if spec.fused and spec.devices == 1 and linear_sgd.applies(task, spec):
            return LinearSGDProgram(ops, task, spec)
        return EagerProgram(ops, task, spec, share=share, notes=("eager steps", *_notes(spec)))


def _share(ops: TorchOps, spec: RunSpec) -> Share | None:
    if spec.devices == 1:
        return None
    from lockstep.frameworks.torch.ranks import rank_share

    return rank_share(ops, spec.batch_size, spec.devices)


def _notes(spec: RunSpec) -> tuple[str, ...]:
    paths = {"gru": "fused gru", "lenet": "fused convolution and pooling"}
    fused = [paths[spec.model.kind]] if spec.fused and spec.model.kind in paths else []
    return (*fused, *([f"{spec.devices} processes"] if spec.devices > 1 else []))


framework = TorchFramework()
