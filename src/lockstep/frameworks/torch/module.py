"""PyTorch modules as programs: the concise style, and a person's own nn.Module."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import nn

from lockstep.frameworks.concise import Call, own_call
from lockstep.frameworks.layout import Layout
from lockstep.frameworks.module_program import (
    EVALUATION_SEED,
    ModuleProgram,
    check_module,
    drawing,
    refuse_batch_statistics,
    require_module,
)
from lockstep.frameworks.step import initial_snapshot
from lockstep.frameworks.torch import concise
from lockstep.frameworks.torch.layout import layout
from lockstep.ops import Snapshot, Weights
from lockstep.optimizers import slot_names

if TYPE_CHECKING:
    from lockstep.frameworks.device_share import Share
    from lockstep.frameworks.torch.ops import TorchOps
    from lockstep.spec import RunSpec
    from lockstep.task import Task

Tensor = torch.Tensor


def module_program(
    ops: TorchOps, task: Task, spec: RunSpec, share: Share | None = None
) -> ModuleProgram:
    """The program of the task's own module, or of the concise form of its model."""
    notes: tuple[str, ...] = ()
    if task.native is None:
        module, call = concise.build(task.model)
        arrays, start = layout(task.model), initial_snapshot(task, spec)
        if ops.fused and any(isinstance(layer, nn.Conv2d) for layer in module.modules()):
            # oneDNN's own order: no copies between its kernels
            module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
            notes = ("channels last",)
    else:
        require_module(task.native, nn.Module, "torch.nn.Module")
        module, call, arrays = copy.deepcopy(task.native), own_call, Layout()
        own = {n: value.detach().cpu().numpy().copy() for n, value in module.state_dict().items()}
        start = lambda: Snapshot(own)  # noqa: E731
        module.to(ops.dtype).eval()
        refuse_batch_statistics(spec, module.modules())
        with torch.no_grad(), drawing(_seeded, EVALUATION_SEED):
            check_module(task, module, lambda x: module(ops.asarray(x)))
    draws = task.native is not None
    return ModuleProgram(
        ops,
        task,
        spec,
        TorchModule(module.to(ops.dtype), call, spec, draws),
        layout=arrays,
        initial=start,
        notes=("eager steps", f"torch.nn and torch.optim ({spec.optimizer.kind})", *notes),
        share=share,
    )


class TorchModule:
    """An nn.Module and its optimizer; `draws` says that it may draw random numbers itself."""

    def __init__(self, module: nn.Module, call: Call, spec: RunSpec, draws: bool) -> None:
        self._module, self._call, self._spec, self._draws = module, call, spec, draws
        self._parameters = {n: p for n, p in module.named_parameters() if p.requires_grad}
        self._optimizer = concise.optimizer(spec.optimizer, self._parameters.values())

    def install(self, weights: Weights, slots: Weights, step: int) -> None:
        self._module.load_state_dict(weights)
        for name, parameter in self._parameters.items():
            own = {s: slots[f"{s}/{name}"].clone() for s in slot_names(self._spec.optimizer)}
            self._optimizer.state[parameter] = concise.optimizer_state(
                self._spec.optimizer, own, step
            )

    def extract(self) -> tuple[Weights, Weights]:
        weights = {n: t.detach().clone() for n, t in self._module.state_dict().items()}
        slots = {
            f"{slot}/{name}": value
            for name, parameter in self._parameters.items()
            for slot, value in concise.optimizer_slots(
                self._spec.optimizer, self._optimizer.state[parameter]
            ).items()
        }
        return weights, slots

    def gradient(
        self, loss: Callable[[Tensor], Tensor], x: Tensor, carry: Weights, seed: int
    ) -> tuple[Tensor, Weights, Weights]:
        if not self._module.training:  # sets every layer: as dear as a small layer's forward pass
            self._module.train()
        own = self._parameters.values()
        with drawing(_seeded, seed if self._draws else None):
            outputs, carry = self._call(self._module, x, carry)
            value = loss(outputs)
            found = torch.autograd.grad(value, list(own), allow_unused=True)
        grads = {
            n: torch.zeros_like(p) if g is None else g
            for (n, p), g in zip(self._parameters.items(), found, strict=True)
        }
        return value.detach(), {n: t.detach() for n, t in carry.items()}, grads

    def update(self, grads: Weights, lr: float) -> None:
        for name, parameter in self._parameters.items():
            parameter.grad = grads[name]
        for group in self._optimizer.param_groups:
            group["lr"] = lr
        self._optimizer.step()

    def outputs(self, x: Tensor, carry: Weights) -> tuple[Tensor, Weights]:
        self._module.eval()
        with torch.no_grad(), drawing(_seeded, EVALUATION_SEED if self._draws else None):
            return self._call(self._module, x, carry)


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    with torch.random.fork_rng([]):
        torch.default_generator.manual_seed(seed % 2**63)
        yield
