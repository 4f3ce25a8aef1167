"""The models as torch.nn has them, torch.optim's optimizers, and the way between both layouts.

PyTorch keeps linear weights as (out, in) and a GRU's gates in the order r, z, n.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from lockstep.errors import InputError
from lockstep.frameworks.layout import Entry, Layout, same, turned
from lockstep.frameworks.protocol import Weights
from lockstep.models import Model
from lockstep.models.feedforward import LinearNet, MLPNet
from lockstep.models.lenet import LeNetModel
from lockstep.models.recurrent import RecurrentNet
from lockstep.spec.parts import Adam, AdamW, OptimizerPart

Tensor = torch.Tensor
Call = Callable[[nn.Module, Tensor, Weights], tuple[Tensor, Weights]]


def _gates(array: np.ndarray) -> np.ndarray:
    """z, r, h <-> r, z, n along the last axis: the same exchange in both directions."""
    z, r, h = np.split(array, 3, axis=-1)
    return np.concatenate([r, z, h], axis=-1)


def _gates_turned(array: np.ndarray) -> np.ndarray:
    return turned(_gates(array))  # canonical (in, 3H) -> native (3H, in)


def _turned_gates(array: np.ndarray) -> np.ndarray:
    return _gates(turned(array))  # native (3H, in) -> canonical (in, 3H)


@dataclass(frozen=True)
class Built:
    module: nn.Module
    call: Call
    layout: Layout


def plain_call(module: nn.Module, x: Tensor, carry: Weights) -> tuple[Tensor, Weights]:
    return module(x), carry


def build(model: Model) -> Built:
    """The module that is the same model as `model`, with its layout."""
    match model:
        case LinearNet(num_inputs, num_outputs):
            return _layers([num_inputs, num_outputs], ["w"], ["b"])
        case MLPNet(sizes):
            numbers = range(1, len(sizes))
            return _layers(list(sizes), [f"w{i}" for i in numbers], [f"b{i}" for i in numbers])
        case LeNetModel(pooling):
            return _lenet(pooling)
        case RecurrentNet():
            return _recurrent(model)
    raise InputError("model", type(model).__name__, "has no torch.nn form", "Use --style scratch.")


def _layers(sizes: list[int], weights: list[str], biases: list[str]) -> Built:
    modules: list[nn.Module] = [nn.Flatten()]
    entries = []
    for i, (w, b) in enumerate(zip(weights, biases, strict=True)):
        if i:
            modules.append(nn.ReLU())
        entries += _linear(w, b, str(len(modules)))
        modules.append(nn.Linear(sizes[i], sizes[i + 1]))
    return Built(nn.Sequential(*modules), plain_call, Layout(tuple(entries)))


def _linear(w: str, b: str, native: str) -> list[Entry]:
    return [Entry(w, f"{native}.weight", turned, turned), Entry(b, f"{native}.bias")]


def _lenet(pooling: str) -> Built:
    if pooling == "max":
        features = [nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)]
        features += [nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
        sizes = [400, 120, 84, 10]
    else:
        features = [nn.Conv2d(1, 20, 3), nn.ReLU(), nn.AvgPool2d(2)]
        features += [nn.Conv2d(20, 50, 5), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten()]
        sizes = [800, 128, 10]
    entries = [
        Entry("conv1_w", "0.weight"),
        Entry("conv1_b", "0.bias"),
        Entry("conv2_w", "3.weight"),
        Entry("conv2_b", "3.bias"),
    ]
    modules: list[nn.Module] = list(features)
    for i in range(1, len(sizes)):
        if i > 1:
            modules.append(nn.ReLU())
        entries += _linear(f"fc{i}_w", f"fc{i}_b", str(len(modules)))
        modules.append(nn.Linear(sizes[i - 1], sizes[i]))

    def call(module: nn.Module, x: Tensor, carry: Weights) -> tuple[Tensor, Weights]:
        return module(x.unsqueeze(1)), carry  # (B, 1, 28, 28)

    return Built(nn.Sequential(*modules), call, Layout(tuple(entries)))


def _recurrent(model: RecurrentNet) -> Built:
    v, n = model.vocab_size, model.num_hiddens
    there, back = (turned, turned) if model.gates == 1 else (_gates_turned, _turned_gates)
    mix = same if model.gates == 1 else _gates
    entries = [
        Entry("w_x", "layer.weight_ih_l0", there, back),
        Entry("w_h", "layer.weight_hh_l0", there, back),
        Entry("b", "layer.bias_ih_l0", mix, mix),
        *_linear("w_out", "b_out", "output"),
    ]
    frozen: tuple[tuple[str, tuple[int, ...]], ...] = ()
    if model.gates == 1:
        layer: nn.Module = nn.RNN(v, n)
        # the chapter's RNN has one bias: PyTorch's second stays at zero
        layer.get_parameter("bias_hh_l0").requires_grad_(False)
        frozen = (("layer.bias_hh_l0", (n,)),)
    elif model.reset == "after":
        layer = nn.GRU(v, n)
        entries.append(Entry("b_h", "layer.bias_hh_l0", mix, mix))
    else:
        raise InputError(
            "model.reset",
            model.reset,
            "torch.nn.GRU applies the reset gate after the product",
            "Use --model.reset after, or --style scratch.",
        )
    module = nn.ModuleDict({"layer": layer, "output": nn.Linear(n, v)})

    def call(module: nn.Module, x: Tensor, carry: Weights) -> tuple[Tensor, Weights]:
        weight = module.get_parameter("output.weight")
        hot = nn.functional.one_hot(x, v).to(weight.dtype)  # (T, B, V)
        states, last = module.get_submodule("layer")(hot, carry["h"].unsqueeze(0))
        return module.get_submodule("output")(states), {"h": last[0]}

    return Built(module, call, Layout(tuple(entries), frozen))


# --- optimizers ---------------------------------------------------------------------------------

_SLOTS = {
    "sgd": {},
    "momentum": {"velocity": "momentum_buffer"},
    "nesterov": {"velocity": "momentum_buffer"},
    "adagrad": {"sum_squares": "sum"},
    "rmsprop": {"mean_squares": "square_avg"},
    "adadelta": {"mean_squares": "square_avg", "mean_deltas": "acc_delta"},
    "adam": {"mean": "exp_avg", "mean_squares": "exp_avg_sq"},
    "adamw": {"mean": "exp_avg", "mean_squares": "exp_avg_sq"},
}


def optimizer(parameters: Iterable[Tensor], part: OptimizerPart) -> torch.optim.Optimizer:
    """torch.optim's optimizer of that kind; its rate is set before each step."""
    o: Any = part
    common = {"lr": 1.0, "weight_decay": o.weight_decay}
    own = list(parameters)
    if isinstance(part, Adam):
        kind = torch.optim.AdamW if isinstance(part, AdamW) else torch.optim.Adam
        return kind(own, betas=(o.beta1, o.beta2), eps=o.eps, **common)
    match part.kind:
        case "sgd":
            return torch.optim.SGD(own, **common)
        case "momentum":
            return torch.optim.SGD(own, momentum=o.momentum, **common)
        case "nesterov":
            # without momentum there is nothing to look ahead along, and torch refuses to
            ahead = o.momentum > 0
            return torch.optim.SGD(own, momentum=o.momentum, nesterov=ahead, **common)
        case "adagrad":
            return torch.optim.Adagrad(own, eps=o.eps, **common)
        case "rmsprop":
            return torch.optim.RMSprop(own, alpha=o.decay, eps=o.eps, **common)
    return torch.optim.Adadelta(own, rho=o.decay, eps=o.eps, **common)


def optimizer_state(part: OptimizerPart, slots: Weights, step: int) -> dict[str, Any]:
    """The optimizer's own state of one parameter from canonical slots."""
    state: dict[str, Any] = {native: slots[slot] for slot, native in _SLOTS[part.kind].items()}
    if part.kind not in ("sgd", "momentum", "nesterov"):
        state["step"] = torch.tensor(float(step))
    return state


def optimizer_slots(part: OptimizerPart, state: dict[str, Any]) -> Weights:
    """Canonical slots from the optimizer's own state of one parameter."""
    return {slot: state[native].clone() for slot, native in _SLOTS[part.kind].items()}
