"""Cells of mindspore.nn as programs: the concise style, and a person's own nn.Cell."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import mindspore as ms
import numpy as np
from mindspore import nn

from lockstep.errors import InputError
from lockstep.frameworks.concise import Call, own_call
from lockstep.frameworks.layout import Layout
from lockstep.frameworks.mindspore import concise
from lockstep.frameworks.mindspore.arrays import Array
from lockstep.frameworks.mindspore.layout import layout
from lockstep.frameworks.mindspore.ops import MindSporeOps, value_and_grad
from lockstep.frameworks.module_program import (
    EVALUATION_SEED,
    ModuleProgram,
    check_module,
    drawing,
    refuse_batch_statistics,
    require_module,
)
from lockstep.frameworks.step import initial_snapshot
from lockstep.ops import Snapshot, Weights

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


_DRAWING = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d)


def module_program(ops: MindSporeOps, task: Task, spec: RunSpec) -> ModuleProgram:
    """The program of the task's own cell, or of the concise form of its model."""
    if task.native is None:
        arrays, start = layout(task.model), initial_snapshot(task, spec)
        cell, call = concise.build(task.model, spec.precision)
    else:
        cell, call, arrays = _own_copy(task.native), own_call, Layout()
        own = {n: p.asnumpy().copy() for n, p in cell.parameters_dict().items()}
        start = lambda: Snapshot(own)  # noqa: E731
    for parameter in cell.get_parameters():
        parameter.set_dtype(ops.dtype)
    if task.native is not None:
        refuse_batch_statistics(spec, (own for _, own in cell.cells_and_names()))
        cell.set_train(False)
        with drawing(_seeded, EVALUATION_SEED):
            check_module(task, cell, lambda x: cell(ops.asarray(x).tensor))
    module = MindSporeModule(ops, cell, call, spec, draws=task.native is not None)
    how = "compiled layers" if module.compiles else "eager steps"
    notes = (how, f"mindspore.nn and {module.optimizer.note}")
    program = ModuleProgram(ops, task, spec, module, layout=arrays, initial=start, notes=notes)
    _warm_up(program, task)
    return program


def _warm_up(program: ModuleProgram, task: Task) -> None:
    """Once on a batch of each size: MindSpore compiles parts of its optimizers when first used."""
    state = program.load(program.initial())
    for rows in {block.shape[1]: block for block in task.plan.epoch(0)}.values():
        program.steps(state, rows[:1], np.zeros(1), 0)


def _own_copy(cell: Any) -> nn.Cell:
    """A person's own stays as it is: runs start from it anew."""
    require_module(cell, nn.Cell, "mindspore.nn.Cell")
    for name, part in cell.cells_and_names():
        if isinstance(part, _DRAWING):
            raise InputError(
                f"model, cell {name}",
                type(part).__name__,
                "draws from a generator of its own, whose state a resumed run cannot restore",
                "Call mindspore.ops.dropout in construct instead.",
            )
    return copy.deepcopy(cell)


class MindSporeModule:
    """An nn.Cell and its optimizer; `draws` says that it may draw random numbers itself."""

    def __init__(
        self, ops: MindSporeOps, cell: nn.Cell, call: Call, spec: RunSpec, draws: bool
    ) -> None:
        self._ops, self._cell, self._call, self._draws = ops, cell, call, draws
        # loops over time are three times as fast as graphs, which take a quarter minute to compile;
        # other layers are no faster
        self.compiles = isinstance(cell, concise.LanguageModel)
        self._forward = ms.jit(cell) if self.compiles else cell
        self._all = cell.parameters_dict()
        self._trained = {n: p for n, p in self._all.items() if p.requires_grad}
        self.optimizer = concise.optimizer(spec.optimizer, ops, self._trained)

    def install(self, weights: Weights, slots: Weights, step: int) -> None:
        concise.assign(self._all, weights)
        own = {n: a for n, a in slots.items() if n.partition("/")[2] in self._trained}
        self.optimizer.install(own, step)

    def extract(self) -> tuple[Weights, Weights]:
        return concise.copies(self._ops, self._all), self.optimizer.extract()

    def gradient(
        self, loss: Callable[[Array], Array], x: Array, carry: Weights, seed: int
    ) -> tuple[Array, Weights, Weights]:
        self._cell.set_train()
        kept = []

        def scalar() -> ms.Tensor:
            outputs, new = self._called(self._forward, x, carry)
            kept.append({n: self._ops.stop_gradient(a) for n, a in new.items()})
            return loss(outputs).tensor

        gradient = value_and_grad(scalar, None, list(self._trained.values()))
        with drawing(_seeded, seed if self._draws else None):
            value, grads = gradient()
        named = zip(self._trained, grads, strict=True)
        return Array(self._ops, value), kept[0], {n: Array(self._ops, g) for n, g in named}

    def update(self, grads: Weights, lr: float) -> None:
        self.optimizer.update(grads, lr)

    def outputs(self, x: Array, carry: Weights) -> tuple[Array, Weights]:
        self._cell.set_train(False)
        with drawing(_seeded, EVALUATION_SEED if self._draws else None):
            return self._called(self._cell, x, carry)

    def _called(self, forward: Any, x: Array, carry: Weights) -> tuple[Array, Weights]:
        given = {n: a.tensor for n, a in carry.items()}
        outputs, new = self._call(forward, x.tensor, given)
        return Array(self._ops, outputs), {n: Array(self._ops, t) for n, t in new.items()}


def _seeded(seed: int) -> nullcontext[None]:
    numpys = np.random.get_state()
    ms.set_seed(seed % 2**32)  # seeds NumPy too
    np.random.set_state(numpys)
    return nullcontext()
