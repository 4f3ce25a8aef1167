"""Models as torch.nn has them, and torch.optim's optimizers. layout.py has their arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from lockstep.frameworks.concise import Call, Makers, native_maker, sequential_call, torch_makers
from lockstep.frameworks.layout import no_form
from lockstep.models import Model
from lockstep.models.layers import AvgPool, Convolution, Dense, Flatten, MaxPool, ReLU, Sequential
from lockstep.models.recurrent import RecurrentNet
from lockstep.ops import Weights
from lockstep.spec.parts import OptimizerPart

Tensor = torch.Tensor
LAYERS: Makers = {
    Flatten: lambda x: nn.Flatten(),
    ReLU: lambda x: nn.ReLU(),
    MaxPool: lambda x: nn.MaxPool2d(x.size),
    AvgPool: lambda x: nn.AvgPool2d(x.size),
    Dense: lambda x: nn.Linear(x.inputs, x.outputs),
    Convolution: lambda x: nn.Conv2d(x.inputs, x.outputs, x.kernel, padding=x.padding),
}


def build(model: Model) -> tuple[nn.Module, Call]:
    """The module that is the same model as `model`, and how it is called."""
    match model:
        case Sequential():
            layers = [LAYERS[type(layer)](layer) for layer in model.layers]
            return nn.Sequential(*layers), sequential_call(model)
        case RecurrentNet():
            return _recurrent(model), _text_call
    raise no_form(model, "torch.nn")


def _recurrent(model: RecurrentNet) -> nn.Module:
    v, n = model.vocab_size, model.num_hiddens
    layer = nn.RNN(v, n) if model.gates == 1 else nn.GRU(v, n)
    if model.gates == 1:
        layer.get_parameter("bias_hh_l0").requires_grad_(False)
    return nn.ModuleDict({"layer": layer, "output": LAYERS[Dense](model.output)})


def _text_call(module: nn.Module, x: Tensor, carry: Weights) -> tuple[Tensor, Weights]:
    weight = module.get_parameter("output.weight")  # (V, H)
    hot = nn.functional.one_hot(x, len(weight)).to(weight.dtype)  # (T, B, V)
    states, last = module.get_submodule("layer")(hot, carry["h"].unsqueeze(0))
    return module.get_submodule("output")(states), {"h": last[0]}


# --- optimizers ---------------------------------------------------------------------------------

MAKERS = torch_makers(torch.optim)
_SLOTS = {  # our slots -> the names in torch's state of a parameter
    "momentum": {"velocity": "momentum_buffer"},
    "nesterov": {"velocity": "momentum_buffer"},
    "adagrad": {"sum_squares": "sum"},
    "rmsprop": {"mean_squares": "square_avg"},
    "adadelta": {"mean_squares": "square_avg", "mean_deltas": "acc_delta"},
    "adam": {"mean": "exp_avg", "mean_squares": "exp_avg_sq"},
    "adamw": {"mean": "exp_avg", "mean_squares": "exp_avg_sq"},
}


def optimizer(part: OptimizerPart, parameters: Iterable[Tensor]) -> torch.optim.Optimizer:
    """torch.optim's optimizer of that kind; its rate is set before each step."""
    return native_maker(MAKERS, part, "torch.optim")(part, list(parameters))


def optimizer_state(part: OptimizerPart, slots: Weights, step: int) -> dict[str, Any]:
    """The optimizer's own state of one parameter from canonical slots."""
    state: dict[str, Any] = {own: slots[slot] for slot, own in _SLOTS.get(part.kind, {}).items()}
    if part.kind not in ("sgd", "momentum", "nesterov"):
        state["step"] = torch.tensor(float(step))
    return state


def optimizer_slots(part: OptimizerPart, state: dict[str, Any]) -> Weights:
    """Canonical slots from the optimizer's own state of one parameter."""
    return {slot: state[own].clone() for slot, own in _SLOTS.get(part.kind, {}).items()}
