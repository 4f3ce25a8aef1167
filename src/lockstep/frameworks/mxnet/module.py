"""Gluon blocks as programs: the concise style, and a person's own block."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon

from lockstep.errors import InputError
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
from lockstep.frameworks.mxnet import concise
from lockstep.frameworks.mxnet.layout import layout
from lockstep.frameworks.step import initial_snapshot
from lockstep.ops import Array, Snapshot, Weights
from lockstep.optimizers import RULES, slot_names

if TYPE_CHECKING:
    from lockstep.frameworks.mxnet.ops import MxnetOps
    from lockstep.spec import RunSpec
    from lockstep.task import Task


def module_program(ops: MxnetOps, task: Task, spec: RunSpec) -> ModuleProgram:
    """The program of the task's own block, or of the concise form of its model."""
    notes: tuple[str, ...] = (f"gluon and mx.optimizer ({spec.optimizer.kind})",)
    if spec.precision == "float64" and spec.optimizer.kind in concise.ROUNDED:
        notes += ("mx.optimizer rounds momentum, decay and betas to float32",)
    if task.native is None:
        arrays, start = layout(task.model), initial_snapshot(task, spec)
        block, call = concise.build(task.model)
        block.cast(spec.precision)
        block.initialize(mx.init.Zero(), ctx=ops.device)  # weights are installed before each call
        block.hybridize(static_alloc=True, static_shape=True)
        notes = ("compiled layers", *notes)
    else:
        block, call, arrays = _own_copy(task, spec), own_call, Layout()
        named = block._collect_params_with_prefix()
        own = {name: parameter.data().asnumpy() for name, parameter in named.items()}
        start = lambda: Snapshot(own)  # noqa: E731
        layers: list[object] = []
        block.apply(layers.append)
        refuse_batch_statistics(spec, layers)
        block.cast(spec.precision)
        with drawing(_seeded, EVALUATION_SEED):
            _try_out(block, task, ops.asarray)
        notes = ("eager steps", *notes)
    module = MxnetModule(block, call, spec, own=task.native is not None)
    return ModuleProgram(ops, task, spec, module, layout=arrays, initial=start, notes=notes)


def _own_copy(task: Task, spec: RunSpec) -> gluon.Block:
    """A person's own stays as it is: runs start from it anew."""
    name, block = type(task.native).__name__, task.native
    require_module(block, gluon.Block, "gluon.Block")
    compiled: list[object] = []
    block.apply(lambda part: compiled.append(getattr(part, "_cached_op", None)))
    if any(compiled):
        problem, remedy = "is compiled and cannot be copied", "Give it before hybridize()."
        raise InputError("model", name, problem, remedy)
    block = copy.deepcopy(block)
    parameters = block._collect_params_with_prefix().values()
    try:
        dtypes = [parameter.dtype for parameter in parameters if parameter.list_ctx()]
    except RuntimeError as error:
        remedy = "Call its initialize() first."
        raise InputError("model", name, "has parameters without values", remedy) from error
    dtype = dtypes[0] if dtypes else "float32"
    with drawing(_seeded, spec.seed):  # layers that wait for a shape draw their weights
        _try_out(block, task, lambda x: mx.np.array(x, dtype=dtype))
    return block


def _try_out(block: gluon.Block, task: Task, held: Callable[[np.ndarray], Array]) -> None:
    def call(x: np.ndarray) -> Array:
        outputs = block(held(x))
        if hasattr(outputs, "wait_to_read"):
            outputs.wait_to_read()  # what failed is raised here
        return outputs

    check_module(task, block, call)


class MxnetModule:
    """A block and its optimizer; one of a person's `own` may draw, or leave a parameter unused."""

    def __init__(self, block: gluon.Block, call: Call, spec: RunSpec, own: bool) -> None:
        self._block, self._call, self._spec, self._own = block, call, spec, own
        # under the names that save_parameters writes
        self._named = block._collect_params_with_prefix()
        self._trained = {n: p for n, p in self._named.items() if p.grad_req != "null"}
        self._optimizer = concise.optimizer(spec.optimizer, 0)
        self._slots: Weights = {}
        self._step = 0

    def install(self, weights: Weights, slots: Weights, step: int) -> None:
        for name, parameter in self._named.items():
            parameter.set_data(weights[name])
        self._optimizer = concise.optimizer(self._spec.optimizer, step)
        self._slots = {
            f"{slot}/{name}": slots[f"{slot}/{name}"] * concise.sign(slot)
            for slot in slot_names(self._spec.optimizer)
            for name in self._trained
        }
        self._step = step

    def extract(self) -> tuple[Weights, Weights]:
        weights = {name: parameter.data().copy() for name, parameter in self._named.items()}
        slots = {
            key: value * concise.sign(key.partition("/")[0]) for key, value in self._slots.items()
        }
        return weights, slots

    def gradient(
        self, loss: Callable[[Array], Array], x: Array, carry: Weights, seed: int
    ) -> tuple[Array, Weights, Weights]:
        if self._own:
            for parameter in self._trained.values():
                parameter.grad()[:] = 0  # zero_grad() is refused for mx.np arrays
        with drawing(_seeded, seed if self._own else None):
            with autograd.record():
                outputs, carry = self._call(self._block, x, carry)
                value = loss(outputs)
            value.backward()
        grads = {name: parameter.grad() for name, parameter in self._trained.items()}
        if self._spec.micro_batches > 1:  # the next part is differentiated into the same memory
            grads = {name: grad.copy() for name, grad in grads.items()}
        return value.detach(), {n: h.detach() for n, h in carry.items()}, grads

    def update(self, grads: Weights, lr: float) -> None:
        part = self._spec.optimizer
        decays_gradient = RULES[part.kind].decays_gradient
        concise.set_step(self._optimizer, part, self._step)
        in_place = concise.updates_in_place(part, self._spec.precision)
        if in_place:
            self._optimizer.set_learning_rate(lr)
        for i, (name, parameter) in enumerate(self._trained.items()):
            w, g, decay = parameter.data(), grads[name], part.weight_decay
            if in_place:
                self._optimizer.update(i, w.as_nd_ndarray(), g.as_nd_ndarray(), None)
                continue
            if decay and decays_gradient:
                g = g + decay * w
            own = [self._slots[f"{slot}/{name}"].as_nd_ndarray() for slot in slot_names(part)]
            step = mx.np.zeros_like(w)
            state = concise.optimizer_state(part, own)
            self._optimizer.update(i, step.as_nd_ndarray(), g.as_nd_ndarray(), state)
            w += lr * (step if decays_gradient else step - decay * w)
        self._step += 1

    def outputs(self, x: Array, carry: Weights) -> tuple[Array, Weights]:
        with drawing(_seeded, EVALUATION_SEED if self._own else None):
            return self._call(self._block, x, carry)


def _seeded(seed: int) -> nullcontext[None]:
    """The engine keeps the order in which seeds and draws are handed to it."""
    mx.random.seed(seed % 2**31)
    return nullcontext()
