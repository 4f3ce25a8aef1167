"""Programs of PyTorch modules: the concise style, and a person's own nn.Module."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from lockstep.errors import InputError
from lockstep.frameworks.eager import fetched
from lockstep.frameworks.layout import Layout
from lockstep.frameworks.protocol import Arrays, Snapshot, Sums, Weights
from lockstep.frameworks.step import device_data, initial_snapshot, zero_carry
from lockstep.frameworks.torch import concise
from lockstep.models.losses import num_correct
from lockstep.models.own import with_outputs
from lockstep.optimizers import clip, slot_names

if TYPE_CHECKING:
    from lockstep.frameworks.torch.ops import TorchOps
    from lockstep.spec import RunSpec
    from lockstep.task import Task

Tensor = torch.Tensor


@dataclass(frozen=True)
class ModuleState:
    """A state_dict, the optimizer's slots by "slot/parameter", and carried state."""

    tensors: Weights
    slots: Weights
    carry: Weights


def module_program(ops: TorchOps, task: Task, spec: RunSpec) -> ModuleProgram:
    """The program of the task's own module, or of the concise form of its model."""
    if task.native is None:
        built = concise.build(task.model)
        start = initial_snapshot(task, spec)
        return ModuleProgram(ops, task, spec, built.module, built.call, built.layout, start)
    if not isinstance(task.native, nn.Module):
        problem, remedy = "is not a torch.nn.Module", "Run it in its own framework."
        raise InputError("model", type(task.native).__name__, problem, remedy)
    module = copy.deepcopy(task.native)  # a person's own stays as it is: runs start from it anew
    own = {name: value.detach().cpu().numpy().copy() for name, value in module.state_dict().items()}
    return ModuleProgram(ops, task, spec, module, own_call, Layout(), lambda: Snapshot(own))


def own_call(module: nn.Module, x: Tensor, carry: Weights) -> tuple[Tensor, Weights]:
    return with_outputs(module(x)), carry


class ModuleProgram:
    """torch.nn and torch.optim, step by step; between calls the state is kept apart."""

    def __init__(
        self,
        ops: TorchOps,
        task: Task,
        spec: RunSpec,
        module: nn.Module,
        call: concise.Call,
        layout: Layout,
        initial: Callable[[], Snapshot],
    ) -> None:
        self.notes: tuple[str, ...] = (
            "eager steps",
            f"torch.nn and torch.optim ({spec.optimizer.kind})",
        )
        self.initial = initial
        self._ops, self._task, self._spec = ops, task, spec
        self._module = module.to(ops.dtype)
        self._call, self._layout = call, layout
        self._parameters = {n: p for n, p in module.named_parameters() if p.requires_grad}
        self._optimizer = concise.optimizer(self._parameters.values(), spec.optimizer)
        self._draws = task.native is not None
        self._data = device_data(ops, task)

    def prepare(self, state: ModuleState, blocks: Sequence[np.ndarray]) -> None:
        """Nothing to compile."""

    def load(self, snapshot: Snapshot) -> ModuleState:
        full = self._task.complete(snapshot, self._spec)
        tensors = self._tensors(self._layout.to_native(full.weights))
        slots = self._tensors(self._layout.slots_to_native(full.slots))
        return ModuleState(tensors, slots, self._tensors(full.carry))

    def _tensors(self, arrays: Arrays) -> Weights:
        return {name: self._ops.asarray(value) for name, value in arrays.items()}

    def dump(self, state: ModuleState) -> Snapshot:
        tensors, slots, carry = (
            {name: tensor.detach().cpu().numpy().copy() for name, tensor in group.items()}
            for group in (state.tensors, state.slots, state.carry)
        )
        weights = self._layout.from_native(tensors)
        return Snapshot(weights, self._layout.slots_from_native(slots), carry)

    def restart_carry(self, state: ModuleState) -> ModuleState:
        return replace(state, carry=zero_carry(self._ops, self._task, self._spec.batch_size))

    def steps(
        self, state: ModuleState, rows: np.ndarray, lrs: np.ndarray, first_step: int
    ) -> tuple[ModuleState, list[tuple[Tensor, Tensor]]]:
        self._install(state, first_step)
        self._module.train()
        carry, log = state.carry, []
        with torch.random.fork_rng([], enabled=self._draws):
            for i, batch in enumerate(self._ops.asarray(rows)):
                if self._draws:  # a module that draws for itself draws the same after a resume
                    seed = self._spec.seed * 1_000_003 + first_step + i
                    torch.default_generator.manual_seed(seed % 2**63)
                loss, norm, carry = self._step(batch, carry, float(lrs[i]))
                log.append((loss, norm))
        return self._extract(carry), log

    def _step(self, rows: Tensor, carry: Weights, lr: float) -> tuple[Tensor, Tensor, Weights]:
        x, y = self._task.batch(self._ops, self._data["train"], rows)
        if not self._task.carries_state:
            carry = zero_carry(self._ops, self._task, len(rows))
        outputs, carry = self._call(self._module, x, carry)
        loss = self._task.loss(self._ops, outputs, y).mean()
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        grads = {
            n: torch.zeros_like(p) if p.grad is None else p.grad
            for n, p in self._parameters.items()
        }
        grads, norm = clip(self._ops, self._spec.optimizer, grads)
        for name, parameter in self._parameters.items():
            parameter.grad = grads[name]
        for group in self._optimizer.param_groups:
            group["lr"] = lr
        self._optimizer.step()
        return loss.detach(), norm, {n: t.detach() for n, t in carry.items()}

    def _install(self, state: ModuleState, step: int) -> None:
        self._module.load_state_dict(state.tensors)
        for name, parameter in self._parameters.items():
            own = {s: state.slots[f"{s}/{name}"].clone() for s in slot_names(self._spec.optimizer)}
            self._optimizer.state[parameter] = concise.optimizer_state(
                self._spec.optimizer, own, step
            )

    def _extract(self, carry: Weights) -> ModuleState:
        tensors = {n: t.detach().clone() for n, t in self._module.state_dict().items()}
        slots = {
            f"{slot}/{name}": value
            for name, parameter in self._parameters.items()
            for slot, value in concise.optimizer_slots(
                self._spec.optimizer, self._optimizer.state[parameter]
            ).items()
        }
        return ModuleState(tensors, slots, carry)

    def fetch(self, log: list[tuple[Tensor, Tensor]]) -> dict[str, np.ndarray]:
        return fetched(log)

    def evaluate(self, state: ModuleState, split: str) -> Sums:
        self._module.load_state_dict(state.tensors)
        self._module.eval()
        loss = correct = 0.0
        with torch.no_grad():
            for block in self._task.evaluation_rows(split):
                for rows in self._ops.asarray(block):
                    x, y = self._task.batch(self._ops, self._data[split], rows)
                    carry = zero_carry(self._ops, self._task, len(rows))
                    outputs, _ = self._call(self._module, x, carry)
                    loss += float(self._task.loss(self._ops, outputs, y).sum())
                    if self._task.classifies:
                        correct += float(num_correct(self._ops, outputs, y))
        return Sums(loss, correct, self._task.count(split))
