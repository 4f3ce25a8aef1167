"""Models as mindspore.nn has them, and mindspore.experimental.optim's optimizers. layout.py has
their arrays."""

from __future__ import annotations

from functools import partial
from typing import Any

import mindspore as ms
from mindspore import Tensor, nn
from mindspore.experimental import optim

from lockstep.errors import InputError
from lockstep.frameworks.concise import Call, Makers, native_maker, sequential_call, torch_makers
from lockstep.frameworks.layout import no_form
from lockstep.frameworks.mindspore.kernels import kernels
from lockstep.models import Model
from lockstep.models.layers import AvgPool, Convolution, Dense, Flatten, MaxPool, ReLU, Sequential
from lockstep.models.recurrent import RecurrentNet
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


def optimizer(part: OptimizerPart, parameters: list[ms.Parameter]) -> optim.Optimizer:
    """The optimizer of that kind; its rate is set before each step."""
    return native_maker(MAKERS, part, "mindspore.experimental.optim")(part, parameters)
