"""Paddle layers as programs: the concise style, and a person's own nn.Layer."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import paddle
from paddle import Tensor
from paddle.nn import Conv2D, Layer

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
from lockstep.frameworks.paddle import concise
from lockstep.frameworks.paddle.layout import layout
from lockstep.frameworks.step import initial_snapshot
from lockstep.ops import Snapshot, Weights

if TYPE_CHECKING:
    from lockstep.frameworks.paddle.ops import PaddleOps
    from lockstep.spec import RunSpec
    from lockstep.task import Task


def module_program(ops: PaddleOps, task: Task, spec: RunSpec) -> ModuleProgram:
    """The program of the task's own layer, or of the concise form of its model."""
    draws = task.native is not None
    notes: tuple[str, ...] = ()
    with _default_dtype(ops.precision):
        if task.native is None:
            arrays, start = layout(task.model), initial_snapshot(task, spec)
            faster = ops.fused.get("layer_convolution")
            layer, call = concise.build(task.model, faster)
            if faster and any(isinstance(own, Conv2D) for own in layer.sublayers()):
                notes = ("biases of convolutions added flat",)
        else:
            require_module(task.native, Layer, "paddle.nn.Layer")
            # the public .to() casts whole numbers too, and fails on a recurrent layer's buffer
            layer = copy.deepcopy(task.native)._to_impl(dtype=ops.precision, floating_only=True)
            call, arrays = own_call, Layout()
            layer.eval()
            refuse_batch_statistics(spec, layer.sublayers(include_self=True))
            with paddle.no_grad(), drawing(_seeded, EVALUATION_SEED):
                check_module(task, layer, lambda x: layer(ops.asarray(x)))
            own = {n: np.array(ops.to_numpy(value)) for n, value in layer.state_dict().items()}
            start = lambda: Snapshot(own)  # noqa: E731
        module = PaddleModule(layer, call, spec, draws)
    own_parts = ("eager steps", f"paddle.nn and paddle.optimizer ({spec.optimizer.kind})")
    notes = (*own_parts, *notes, *concise.notes(spec))
    return ModuleProgram(ops, task, spec, module, layout=arrays, initial=start, notes=notes)


@contextmanager
def _default_dtype(precision: str) -> Iterator[None]:
    before = paddle.get_default_dtype()
    paddle.set_default_dtype(precision)
    try:
        yield
    finally:
        paddle.set_default_dtype(before)


class PaddleModule:
    """A Layer and its optimizer; `draws` says that it may draw random numbers itself."""

    def __init__(self, layer: Layer, call: Call, spec: RunSpec, draws: bool) -> None:
        self._layer, self._call, self._draws = layer, call, draws
        self._parameters = concise.trained(layer)
        own = self._parameters.values()
        self._optimizer = concise.optimizer(spec.optimizer, list(own))
        self._arrays = layer.state_dict()  # the parameters themselves, some under two names
        self.update({n: paddle.zeros_like(p) for n, p in self._parameters.items()}, 0.0)
        state = self._optimizer.state_dict()  # exists from the first update on
        names = {p.name for p in own}
        self._slots = {
            f"{slot}/{name}": concise.accumulator(state, p.name, native)
            for name, p in self._arrays.items()
            if p.name in names
            for slot, native in concise.SLOTS.get(spec.optimizer.kind, {}).items()
        }
        self._powers = concise.powers(spec.optimizer, state, names)

    def install(self, weights: Weights, slots: Weights, step: int) -> None:
        self._layer.set_state_dict(weights)
        for name, own in self._slots.items():
            own.set_value(slots[name])
        for power, base in self._powers:
            power.set_value(_power(base, step + 1, power))

    def extract(self) -> tuple[Weights, Weights]:
        return _copies(self._arrays), _copies(self._slots)

    def gradient(
        self, loss: Callable[[Tensor], Tensor], x: Tensor, carry: Weights, seed: int
    ) -> tuple[Tensor, Weights, Weights]:
        self._layer.train()
        with drawing(_seeded, seed if self._draws else None):
            outputs, carry = self._call(self._layer, x, carry)
            value = loss(outputs)
            grads = self._grads(value)
        return value.detach(), {n: t.detach() for n, t in carry.items()}, grads

    def _grads(self, value: Tensor) -> Weights:
        # of still parameters too: recurrent kernels fail when asked for some of theirs only
        own = {n: p for n, p in self._layer.named_parameters() if not p.stop_gradient}
        found = paddle.grad(value, list(own.values()), allow_unused=True)
        named = zip(own.items(), found, strict=True)
        grads = {n: paddle.zeros_like(p) if g is None else g for (n, p), g in named}
        return {n: grads[n] for n in self._parameters}

    def update(self, grads: Weights, lr: float) -> None:
        for name, parameter in self._parameters.items():
            parameter.grad = grads[name]
        self._optimizer.set_lr(lr)
        self._optimizer.step()
        self._optimizer.clear_grad(set_to_zero=False)

    def outputs(self, x: Tensor, carry: Weights) -> tuple[Tensor, Weights]:
        self._layer.eval()
        with paddle.no_grad(), drawing(_seeded, EVALUATION_SEED if self._draws else None):
            return self._call(self._layer, x, carry)


def _copies(tensors: Weights) -> Weights:
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}


def _power(base: float, exponent: int, like: Tensor) -> np.ndarray:
    """base^exponent as the optimizer gets there, product by product: a cut changes no bit."""
    precision = like.numpy().dtype
    return np.cumprod(np.full(exponent, base, precision), dtype=precision)[-1:]


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    before: Any = paddle.get_rng_state()
    try:
        paddle.seed(seed % 2**63)
        yield
    finally:
        paddle.set_rng_state(before)
