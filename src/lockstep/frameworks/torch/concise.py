"""The models as torch.nn has them, and torch.optim's optimizers. layout.py has their arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn

from lockstep.errors import InputError
from lockstep.models import Model
from lockstep.models.feedforward import LinearNet, MLPNet
from lockstep.models.lenet import LeNetModel
from lockstep.models.recurrent import RecurrentNet
from lockstep.ops import Weights
from lockstep.spec.parts import Adam, AdamW, OptimizerPart

Tensor = torch.Tensor
Call = Callable[[nn.Module, Tensor, Weights], tuple[Tensor, Weights]]


def build(model: Model) -> tuple[nn.Module, Call]:
    """The module that is the same model as `model`, and how it is called."""
    match model:
        case LinearNet(num_inputs, num_outputs):
            return nn.Sequential(nn.Flatten(), nn.Linear(num_inputs, num_outputs)), _plain_call
        case MLPNet(sizes):
            return nn.Sequential(nn.Flatten(), *_dense(sizes)), _plain_call
        case LeNetModel(pooling):
            return _lenet(pooling), _image_call
        case RecurrentNet():
            return _recurrent(model), _text_call
    raise InputError("model", type(model).__name__, "has no torch.nn form", "Use --style scratch.")


def _dense(sizes: tuple[int, ...]) -> list[nn.Module]:
    """Linear layers with ReLU between them."""
    modules: list[nn.Module] = []
    for i in range(1, len(sizes)):
        modules += [nn.ReLU(), nn.Linear(sizes[i - 1], sizes[i])]
    return modules[1:]


def _lenet(pooling: str) -> nn.Module:
    if pooling == "max":
        features = [nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)]
        features += [nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
        return nn.Sequential(*features, *_dense((400, 120, 84, 10)))
    features = [nn.Conv2d(1, 20, 3), nn.ReLU(), nn.AvgPool2d(2)]
    features += [nn.Conv2d(20, 50, 5), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten()]
    return nn.Sequential(*features, *_dense((800, 128, 10)))


def _recurrent(model: RecurrentNet) -> nn.Module:
    v, n = model.vocab_size, model.num_hiddens
    layer = nn.RNN(v, n) if model.gates == 1 else nn.GRU(v, n)
    if model.gates == 1:
        layer.get_parameter("bias_hh_l0").requires_grad_(False)
    return nn.ModuleDict({"layer": layer, "output": nn.Linear(n, v)})


def _plain_call(module: nn.Module, x: Tensor, carry: Weights) -> tuple[Tensor, Weights]:
    return module(x), carry


def _image_call(module: nn.Module, x: Tensor, carry: Weights) -> tuple[Tensor, Weights]:
    return module(x.unsqueeze(1)), carry  # (B, 1, 28, 28)


def _text_call(module: nn.Module, x: Tensor, carry: Weights) -> tuple[Tensor, Weights]:
    weight = module.get_parameter("output.weight")  # (V, H)
    hot = nn.functional.one_hot(x, len(weight)).to(weight.dtype)  # (T, B, V)
    states, last = module.get_submodule("layer")(hot, carry["h"].unsqueeze(0))
    return module.get_submodule("output")(states), {"h": last[0]}


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
