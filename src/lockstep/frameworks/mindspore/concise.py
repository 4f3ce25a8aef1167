"""Models as mindspore.nn has them, and mindspore.experimental.optim's optimizers. layout.py has
their arrays."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn
from mindspore.experimental import optim

from lockstep import optimizers
from lockstep.errors import InputError
from lockstep.frameworks.concise import Call, Makers, native_maker, sequential_call, torch_makers
from lockstep.frameworks.layout import no_form
from lockstep.frameworks.mindspore.arrays import Array
from lockstep.frameworks.mindspore.kernels import kernels
from lockstep.frameworks.mindspore.ops import MindSporeOps
from lockstep.models import Model
from lockstep.models.layers import AvgPool, Convolution, Dense, Flatten, MaxPool, ReLU, Sequential
from lockstep.models.recurrent import RecurrentNet
from lockstep.ops import Weights
from lockstep.spec.parts import OptimizerPart

Tensors = dict[str, Tensor]
LAYERS: Makers = {
    Flatten: lambda x: nn.Flatten(),
    ReLU: lambda x: nn.ReLU(),
    MaxPool: lambda x: nn.MaxPool2d(x.size, x.size),
    AvgPool: lambda x: nn.AvgPool2d(x.size, x.size),
    Dense: lambda x: nn.Dense(x.inputs, x.outputs),
    Convolution: lambda x: nn.Conv2d(
        x.inputs, x.outputs, x.kernel, pad_mode="pad", padding=x.padding, has_bias=True
    ),
}


def build(model: Model, precision: str) -> tuple[nn.Cell, Call]:
    """The cell that is the same model as `model`, and how it is called: the cell or its graph."""
    match model:
        case Sequential():
            if any(isinstance(layer, Convolution) for layer in model.layers):
                _refuse_float64(precision, "Conv2d has no float64 kernel")
            layers = [LAYERS[type(layer)](layer) for layer in model.layers]
            return nn.SequentialCell(*layers), sequential_call(model)
        case RecurrentNet():
            _refuse_float64(precision, "RNN and GRU take no float64 state")
            return LanguageModel(model), partial(_text_call, model.vocab_size)
    raise no_form(model, "mindspore.nn")


def _refuse_float64(precision: str, problem: str) -> None:
    if precision == "float64":
        remedy = "Use --style scratch, or --precision float32."
        raise InputError("precision", precision, f"mindspore.nn.{problem}", remedy)


class LanguageModel(nn.Cell):
    """One-hot symbols (T, B, V), a recurrent layer, and scores (T, B, V)."""

    def __init__(self, model: RecurrentNet) -> None:
        super().__init__()
        v, n = model.vocab_size, model.num_hiddens
        self.layer = nn.RNN(v, n) if model.gates == 1 else nn.GRU(v, n)
        self.output = LAYERS[Dense](model.output)
        if model.gates == 1:
            self.layer.b_hh_list[0].requires_grad = False

    def construct(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        states, last = self.layer(x, h)
        return self.output(states), last


def _text_call(vocab_size: int, cell: Any, x: Tensor, carry: Tensors) -> tuple[Tensor, Tensors]:
    hot = kernels("float32").one_hot(x, vocab_size)  # (T, B, V)
    scores, last = cell(hot, carry["h"].expand_dims(0))
    return scores, {"h": last[0]}


# --- optimizers ---------------------------------------------------------------------------------

# MindSpore's optimizers compute in float32, or refuse float64 parameters. Those of mindspore.nn are
# other ones: Adagrad has no epsilon, RMSProp has it under the root, Adam before the correction,
# AdamWeightDecay has no correction, and Momentum looks ahead otherwise than Nesterov's.

MAKERS = torch_makers(optim)  # its signatures are PyTorch's
SLOTS = {  # our slots -> the lists of parameters in which MindSpore keeps them
    "momentum": {"velocity": "accum"},
    "nesterov": {"velocity": "accum"},
    "adagrad": {"sum_squares": "accum"},
    "rmsprop": {"mean_squares": "mean_square"},
    "adadelta": {"mean_squares": "accum", "mean_deltas": "accum_update"},
    "adam": {"mean": "exp_avg", "mean_squares": "exp_avg_sq"},
    "adamw": {"mean": "exp_avg", "mean_squares": "exp_avg_sq"},
}


Parameters = Mapping[str, ms.Parameter]


def optimizer(
    part: OptimizerPart, ops: MindSporeOps, parameters: Parameters
) -> OwnOptimizer | RuleOptimizer:
    """MindSpore's optimizer of that kind; in float64, where it has none, our own rule."""
    native_maker(MAKERS, part, "mindspore.experimental.optim")  # refused in float64 too
    return (OwnOptimizer if ops.precision == "float32" else RuleOptimizer)(ops, parameters, part)


class OwnOptimizer:
    """An optimizer of mindspore.experimental.optim."""

    def __init__(self, ops: MindSporeOps, parameters: Parameters, part: OptimizerPart) -> None:
        self.note = f"mindspore.experimental.optim ({part.kind})"
        self._ops, self._part = ops, part
        self._optimizer = MAKERS[part.kind](part, list(parameters.values()))
        self._slots: Parameters = {
            f"{slot}/{name}": own
            for slot, native in SLOTS.get(part.kind, {}).items()
            for name, own in zip(parameters, getattr(self._optimizer, native), strict=True)
        }

    def install(self, slots: Weights, step: int) -> None:
        assign(self._slots, slots)
        if self._part.kind in ("adam", "adamw"):
            ms.ops.assign(self._optimizer.state_step, ms.Tensor(step, ms.int32))
        if self._part.kind in ("sgd", "momentum", "nesterov"):
            for first in self._optimizer.stat:  # not the first update: the velocity is there
                ms.ops.assign(first, ms.ops.zeros_like(first))

    def extract(self) -> Weights:
        return copies(self._ops, self._slots)

    def update(self, grads: Weights, lr: float) -> None:
        ms.ops.assign(self._optimizer.lrs[0], ms.Tensor(lr, ms.float32))
        self._optimizer(tuple(g.tensor for g in grads.values()))


class RuleOptimizer:
    """Our rule on MindSpore's parameters."""

    def __init__(self, ops: MindSporeOps, parameters: Parameters, part: OptimizerPart) -> None:
        self.note = f"our own {part.kind}: mindspore has no optimizers in float64"
        self._ops, self._parameters, self._part = ops, parameters, part

    def install(self, slots: Weights, step: int) -> None:
        self._slots, self._step = dict(slots), step

    def extract(self) -> Weights:
        return self._slots

    def update(self, grads: Weights, lr: float) -> None:
        weights = {n: Array(self._ops, p.value()) for n, p in self._parameters.items()}
        (numbers,) = optimizers.step_numbers(self._part, np.array([lr]), self._step).tolist()
        weights, self._slots = optimizers.update(
            self._ops, self._part, weights, grads, self._slots, numbers
        )
        assign(self._parameters, weights)
        self._step += 1


def assign(parameters: Parameters, arrays: Weights) -> None:
    """In place: after set_data a compiled optimizer would go on with the memory from before."""
    for name, parameter in parameters.items():
        ms.ops.assign(parameter, arrays[name].tensor)


def copies(ops: MindSporeOps, parameters: Parameters) -> Weights:
    return {n: Array(ops, ms.Tensor(p.asnumpy().copy())) for n, p in parameters.items()}
