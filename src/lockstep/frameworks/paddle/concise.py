"""The models as paddle.nn has them, and paddle.optimizer's optimizers. layout.py has their arrays.

Layers and optimizers take on Paddle's default dtype when they are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import paddle
from paddle import Tensor
from paddle.nn import Layer

from lockstep.errors import InputError
from lockstep.models import Model
from lockstep.models.feedforward import LinearNet, MLPNet
from lockstep.models.lenet import LeNetModel
from lockstep.models.recurrent import RecurrentNet
from lockstep.ops import Weights
from lockstep.spec.parts import Adam, AdamW, OptimizerPart

if TYPE_CHECKING:
    from lockstep.spec import RunSpec

nn = paddle.nn
Call = Callable[[Layer, Tensor, Weights], tuple[Tensor, Weights]]


def build(model: Model) -> tuple[Layer, Call]:
    """The layer that is the same model as `model`, and how it is called."""
    match model:
        case LinearNet(num_inputs, num_outputs):
            return nn.Sequential(nn.Flatten(), nn.Linear(num_inputs, num_outputs)), _plain_call
        case MLPNet(sizes):
            return nn.Sequential(nn.Flatten(), *_dense(sizes)), _plain_call
        case LeNetModel(pooling):
            return _lenet(pooling), _image_call
        case RecurrentNet():
            return _recurrent(model), _text_call
    raise InputError("model", type(model).__name__, "has no paddle.nn form", "Use --style scratch.")


def _dense(sizes: tuple[int, ...]) -> list[Layer]:
    """Linear layers with ReLU between them."""
    layers: list[Layer] = []
    for i in range(1, len(sizes)):
        layers += [nn.ReLU(), nn.Linear(sizes[i - 1], sizes[i])]
    return layers[1:]


def _lenet(pooling: str) -> Layer:
    if pooling == "max":
        features = [nn.Conv2D(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2D(2)]
        features += [nn.Conv2D(6, 16, 5), nn.ReLU(), nn.MaxPool2D(2), nn.Flatten()]
        return nn.Sequential(*features, *_dense((400, 120, 84, 10)))
    features = [nn.Conv2D(1, 20, 3), nn.ReLU(), nn.AvgPool2D(2)]
    features += [nn.Conv2D(20, 50, 5), nn.ReLU(), nn.AvgPool2D(2), nn.Flatten()]
    return nn.Sequential(*features, *_dense((800, 128, 10)))


def _recurrent(model: RecurrentNet) -> Layer:
    v, n = model.vocab_size, model.num_hiddens
    if model.gates == 1:
        # not trainable=False: the kernel's gradient fails without this bias's
        still = paddle.ParamAttr(learning_rate=0.0)
        layer = nn.SimpleRNN(v, n, time_major=True, bias_hh_attr=still)
    else:
        layer = nn.GRU(v, n, time_major=True)
    return nn.LayerDict({"layer": layer, "output": nn.Linear(n, v)})


def trained(layer: Layer) -> dict[str, Tensor]:
    """The parameters that an optimizer moves, by name."""
    return {
        name: p
        for name, p in layer.named_parameters()
        if not p.stop_gradient and p.optimize_attr["learning_rate"]
    }


def _plain_call(layer: Layer, x: Tensor, carry: Weights) -> tuple[Tensor, Weights]:
    return layer(x), carry


def _image_call(layer: Layer, x: Tensor, carry: Weights) -> tuple[Tensor, Weights]:
    return layer(x.unsqueeze(1)), carry  # (B, 1, 28, 28)


def _text_call(layer: Layer, x: Tensor, carry: Weights) -> tuple[Tensor, Weights]:
    weight = layer["output"].weight  # (H, V)
    hot = nn.functional.one_hot(x.astype(paddle.int64), weight.shape[1]).astype(weight.dtype)
    states, last = layer["layer"](hot, carry["h"].unsqueeze(0))
    return layer["output"](states), {"h": last[0]}


# --- optimizers ---------------------------------------------------------------------------------

SLOTS = {
    "sgd": {},
    "momentum": {"velocity": "velocity"},
    "nesterov": {"velocity": "velocity"},
    "adagrad": {"sum_squares": "moment"},
    "rmsprop": {"mean_squares": "mean_square"},
    "adadelta": {"mean_squares": "_avg_squared_grad", "mean_deltas": "_avg_squared_update"},
    "adam": {"mean": "moment1", "mean_squares": "moment2"},
    "adamw": {"mean": "moment1", "mean_squares": "moment2"},
}
_ROUNDED = {  # settings that kernels take in float32, whatever they compute in
    "momentum": ("momentum", "weight_decay"),
    "nesterov": ("momentum", "weight_decay"),
    "adagrad": ("eps",),
    "rmsprop": ("decay",),
    "adadelta": ("decay", "eps"),
    "adamw": ("weight_decay",),
}


def optimizer(parameters: Sequence[Tensor], part: OptimizerPart) -> paddle.optimizer.Optimizer:
    """paddle.optimizer's optimizer of that kind; its rate is set before each step."""
    o: Any = part
    common = {"learning_rate": 1.0, "parameters": list(parameters)}
    if isinstance(part, AdamW):
        common["weight_decay"] = o.weight_decay
        return paddle.optimizer.AdamW(beta1=o.beta1, beta2=o.beta2, epsilon=o.eps, **common)
    common["weight_decay"] = o.weight_decay or None
    match part.kind:
        case "sgd":
            return paddle.optimizer.SGD(**common)
        case "momentum" | "nesterov":
            ahead = part.kind == "nesterov"
            return paddle.optimizer.Momentum(momentum=o.momentum, use_nesterov=ahead, **common)
        case "adagrad":
            return paddle.optimizer.Adagrad(epsilon=o.eps, **common)
        case "rmsprop":
            # Paddle adds epsilon under the root: its square there bounds the difference by eps
            return paddle.optimizer.RMSProp(rho=o.decay, epsilon=o.eps**2, **common)
        case "adadelta":
            return paddle.optimizer.Adadelta(rho=o.decay, epsilon=o.eps, **common)
    return paddle.optimizer.Adam(beta1=o.beta1, beta2=o.beta2, epsilon=o.eps, **common)


def accumulator(state: dict[str, Any], parameter: str, native: str) -> Tensor:
    """One array of an optimizer's state_dict, whose names end in a count."""
    own = f"{parameter}_{native}"
    return next(value for name, value in state.items() if name.rpartition("_")[0] == own)


def powers(
    part: OptimizerPart, state: dict[str, Any], names: Iterable[str]
) -> list[tuple[Tensor, float]]:
    """The powers of its betas that an Adam keeps for each parameter, with the betas."""
    o: Any = part
    if not isinstance(part, Adam):
        return []
    betas = {"beta1_pow_acc": o.beta1, "beta2_pow_acc": o.beta2}
    return [(accumulator(state, name, p), beta) for name in names for p, beta in betas.items()]


def notes(spec: RunSpec) -> tuple[str, ...]:
    """Where the native optimizer's definition is not ours."""
    kind, said = spec.optimizer.kind, []
    if kind == "rmsprop":
        said.append("paddle.optimizer.RMSProp has eps^2 under the root, not eps beside it")
    if spec.precision == "float64":
        settings = {name: getattr(spec.optimizer, name) for name in _ROUNDED.get(kind, ())}
        rounded = {n: float(np.float32(v)) for n, v in settings.items()}
        other = ", ".join(f"{n} = {v!r}" for n, v in rounded.items() if v != settings[n])
        said += [f"paddle.optimizer takes settings in float32: {other}"] if other else []
    return tuple(said)
