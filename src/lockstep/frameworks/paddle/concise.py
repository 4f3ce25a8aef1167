"""Models as paddle.nn has them, and paddle.optimizer's optimizers. layout.py has their arrays.

Layers and optimizers have the dtype that is Paddle's default when they are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import paddle
from paddle import Tensor
from paddle.nn import Conv2D, Layer

from lockstep.frameworks.concise import Call, Makers, native_maker, sequential_call
from lockstep.frameworks.layout import no_form
from lockstep.models import Model
from lockstep.models.layers import AvgPool, Convolution, Dense, Flatten, MaxPool, ReLU, Sequential
from lockstep.models.recurrent import RecurrentNet
from lockstep.ops import Weights
from lockstep.spec.parts import OptimizerPart

if TYPE_CHECKING:
    from lockstep.spec import RunSpec

nn = paddle.nn
LAYERS: Makers = {
    Flatten: lambda x: nn.Flatten(),
    ReLU: lambda x: nn.ReLU(),
    MaxPool: lambda x: nn.MaxPool2D(x.size),
    AvgPool: lambda x: nn.AvgPool2D(x.size),
    Dense: lambda x: nn.Linear(x.inputs, x.outputs),
    Convolution: lambda x: nn.Conv2D(x.inputs, x.outputs, x.kernel, padding=x.padding),
}


class OwnConvolution(Conv2D):
    """A Conv2D that convolves by another function of x, weight, bias and padding."""

    def __init__(self, layer: Convolution, function: Callable[..., Tensor]) -> None:
        super().__init__(layer.inputs, layer.outputs, layer.kernel, padding=layer.padding)
        self._function, self._sides = function, layer.padding

    def forward(self, x: Tensor) -> Tensor:
        return self._function(x, self.weight, self.bias, self._sides)


def build(model: Model, convolution: Callable[..., Tensor] | None = None) -> tuple[Layer, Call]:
    """The layer that is the same model as `model`, and how it is called. `convolution` is a faster
    equal of Conv2D's."""
    makers = dict(LAYERS)
    if convolution is not None:
        makers[Convolution] = lambda x: OwnConvolution(x, convolution)
    match model:
        case Sequential():
            layers = [makers[type(layer)](layer) for layer in model.layers]
            return nn.Sequential(*layers), sequential_call(model)
        case RecurrentNet():
            return _recurrent(model), _text_call
    raise no_form(model, "paddle.nn")


def _recurrent(model: RecurrentNet) -> Layer:
    v, n = model.vocab_size, model.num_hiddens
    if model.gates == 1:
        # not trainable=False: the kernel's gradient fails without this bias's
        still = paddle.ParamAttr(learning_rate=0.0)
        layer = nn.SimpleRNN(v, n, time_major=True, bias_hh_attr=still)
    else:
        layer = nn.GRU(v, n, time_major=True)
    return nn.LayerDict({"layer": layer, "output": LAYERS[Dense](model.output)})


def trained(layer: Layer) -> dict[str, Tensor]:
    """The parameters that an optimizer moves, by name."""
    return {
        name: p
        for name, p in layer.named_parameters()
        if not p.stop_gradient and p.optimize_attr["learning_rate"]
    }


def _text_call(layer: Layer, x: Tensor, carry: Weights) -> tuple[Tensor, Weights]:
    weight = layer["output"].weight  # (H, V)
    hot = nn.functional.one_hot(x.astype(paddle.int64), weight.shape[1]).astype(weight.dtype)
    states, last = layer["layer"](hot, carry["h"].unsqueeze(0))
    return layer["output"](states), {"h": last[0]}


# --- optimizers ---------------------------------------------------------------------------------

SLOTS = {  # our slots -> the names of Paddle's accumulators
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


_RULES = paddle.optimizer
MAKERS = {  # from the part, and the settings that all of them take
    "sgd": lambda o, **common: _RULES.SGD(**common),
    "momentum": lambda o, **common: _RULES.Momentum(momentum=o.momentum, **common),
    "nesterov": lambda o, **common: _RULES.Momentum(
        momentum=o.momentum, use_nesterov=True, **common
    ),
    "adagrad": lambda o, **common: _RULES.Adagrad(epsilon=o.eps, **common),
    # Paddle adds epsilon under the root: its square there bounds the difference by eps
    "rmsprop": lambda o, **common: _RULES.RMSProp(rho=o.decay, epsilon=o.eps**2, **common),
    "adadelta": lambda o, **common: _RULES.Adadelta(rho=o.decay, epsilon=o.eps, **common),
    "adam": lambda o, **common: _RULES.Adam(beta1=o.beta1, beta2=o.beta2, epsilon=o.eps, **common),
    "adamw": lambda o, **common: _RULES.AdamW(
        beta1=o.beta1, beta2=o.beta2, epsilon=o.eps, **common
    ),
}


def optimizer(part: OptimizerPart, parameters: Sequence[Tensor]) -> paddle.optimizer.Optimizer:
    """paddle.optimizer's optimizer of that kind; its rate is set before each step."""
    # AdamW takes a decay of 0 as none, the others only None
    decay = part.weight_decay if part.kind == "adamw" else part.weight_decay or None
    make = native_maker(MAKERS, part, "paddle.optimizer")
    return make(part, learning_rate=1.0, parameters=list(parameters), weight_decay=decay)


def accumulator(state: dict[str, Any], parameter: str, native: str) -> Tensor:
    """One array of an optimizer's state_dict, whose names end in a count."""
    own = f"{parameter}_{native}"
    return next(value for name, value in state.items() if name.rpartition("_")[0] == own)


def powers(
    part: OptimizerPart, state: dict[str, Any], names: Iterable[str]
) -> list[tuple[Tensor, float]]:
    """The powers of its betas that an Adam keeps for each parameter, with the betas."""
    o: Any = part
    if part.kind not in ("adam", "adamw"):
        return []
    betas = {"beta1_pow_acc": o.beta1, "beta2_pow_acc": o.beta2}
    return [(accumulator(state, name, p), beta) for name in names for p, beta in betas.items()]


def notes(spec: RunSpec) -> tuple[str, ...]:
    """Where the native optimizer's definition is not ours."""
    kind, found = spec.optimizer.kind, []
    if kind == "rmsprop":
        found.append("paddle.optimizer.RMSProp has eps^2 under the root, not eps beside it")
    if spec.precision == "float64":
        settings = {name: getattr(spec.optimizer, name) for name in _ROUNDED.get(kind, ())}
        rounded = {n: float(np.float32(v)) for n, v in settings.items()}
        other = ", ".join(f"{n} = {v!r}" for n, v in rounded.items() if v != settings[n])
        found += [f"paddle.optimizer takes settings in float32: {other}"] if other else []
    return tuple(found)
