"""Models as gluon has them, and mx.optimizer's optimizers. layout.py has their arrays."""

from __future__ import annotations

from math import sqrt
from typing import Any

import mxnet as mx
from mxnet import gluon, npx

from lockstep.frameworks.concise import Call, Makers, native_maker, sequential_call
from lockstep.frameworks.layout import no_form
from lockstep.frameworks.mxnet.layout import children
from lockstep.models import Model
from lockstep.models.layers import AvgPool, Convolution, Dense, Flatten, MaxPool, ReLU, Sequential
from lockstep.models.recurrent import RecurrentNet
from lockstep.ops import Array, Weights
from lockstep.spec.parts import OptimizerPart

nn, rnn = gluon.nn, gluon.rnn
LAYERS: Makers = {  # of the children of a model; those with weights may have ReLU after them
    Flatten: lambda x: nn.Flatten(),
    ReLU: lambda x: nn.Activation("relu"),
    MaxPool: lambda x: nn.MaxPool2D(x.size),
    AvgPool: lambda x: nn.AvgPool2D(x.size),
    Dense: lambda x, **more: nn.Dense(x.outputs, in_units=x.inputs, **more),
    Convolution: lambda x, **more: nn.Conv2D(
        x.outputs, x.kernel, padding=x.padding, in_channels=x.inputs, **more
    ),
}


def build(model: Model) -> tuple[gluon.HybridBlock, Call]:
    """The block that is the same model as `model`, and how it is called."""
    match model:
        case Sequential():
            block = nn.HybridSequential()
            for layer, *relu in children(model):
                block.add(LAYERS[type(layer)](layer, **({"activation": "relu"} if relu else {})))
            return block, sequential_call(model)
        case RecurrentNet():
            return TextBlock(model), _text_call
    raise no_form(model, "gluon")


class TextBlock(gluon.HybridBlock):
    """One-hot symbols (T, B, V) and a state (1, B, H) -> scores (T, B, V), the last state."""

    def __init__(self, model: RecurrentNet) -> None:
        super().__init__()
        v, n = model.vocab_size, model.num_hiddens
        self.layer = (
            rnn.GRU(n, input_size=v)
            if model.gates == 3
            else rnn.RNN(n, activation="tanh", input_size=v)
        )
        if model.gates == 1:
            self.layer.l0_h2h_bias.grad_req = "null"
        self.output = LAYERS[Dense](model.output, flatten=False)

    def hybrid_forward(self, F: Any, hot: Array, h: Array) -> tuple[Array, Array]:
        states, last = self.layer(hot, [h])
        return self.output(states), last[0]


def _text_call(block: gluon.Block, x: Array, carry: Weights) -> tuple[Array, Weights]:
    weight = block.output.weight.data()  # (V, H)
    hot = npx.one_hot(x, weight.shape[0], dtype=str(weight.dtype))
    scores, last = block(hot, mx.np.expand_dims(carry["h"], 0))
    return scores, {"h": last.reshape(carry["h"].shape)}


# --- optimizers ---------------------------------------------------------------------------------
# Each is asked for its step at rate 1 from a weight of zero, and the step is scaled by our rate:
# MXNet folds the rate into a velocity (v <- m v - lr g, w <- w + v), which is another path once the
# rate changes, its AdaDelta has no rate, and its AdaGrad and AdaDelta decay weights apart from the
# gradient. At rate 1 a velocity is ours with the other sign.
# What stays MXNet's: its kernels take momentum, decay, betas and Adam's corrected rate as float32
# in float64 runs too (1 - 0.999 is then off by 1e-5 of itself), and AdaGrad and RMSProp have
# epsilon under the root, sqrt(s + e), where ours is sqrt(s) + eps: with e = eps^2 they agree at
# s = 0, and elsewhere to a share of eps / sqrt(s).

ROUNDED = ("momentum", "nesterov", "rmsprop", "adam", "adamw")  # the others take no such numbers


MAKERS = {  # from the part, and the settings that all of them take
    "sgd": lambda o, **common: mx.optimizer.SGD(**common),
    "momentum": lambda o, **common: mx.optimizer.SGD(momentum=o.momentum, **common),
    "nesterov": lambda o, **common: mx.optimizer.NAG(momentum=o.momentum, **common),
    "adagrad": lambda o, **common: mx.optimizer.AdaGrad(eps=o.eps**2, **common),
    "rmsprop": lambda o, **common: mx.optimizer.RMSProp(gamma1=o.decay, epsilon=o.eps**2, **common),
    "adadelta": lambda o, **common: mx.optimizer.AdaDelta(rho=o.decay, epsilon=o.eps, **common),
    "adam": lambda o, **common: mx.optimizer.Adam(
        beta1=o.beta1, beta2=o.beta2, epsilon=o.eps, **common
    ),
}
MAKERS["adamw"] = MAKERS["adam"]  # MXNet has a kernel only: its decay is added by the caller


def optimizer(part: OptimizerPart, step: int) -> mx.optimizer.Optimizer:
    """mx.optimizer's optimizer of that kind after `step` updates, at rate 1."""
    make = native_maker(MAKERS, part, "mx.optimizer")
    return make(part, learning_rate=1.0, begin_num_update=step)


def updates_in_place(part: OptimizerPart, precision: str) -> bool:
    """Whether the optimizer takes our rate and updates the weight itself, in one kernel: plain SGD,
    whose step has nothing that a rate is folded into. In float64 it would round the rate."""
    return part.kind == "sgd" and not part.weight_decay and precision == "float32"


def set_step(rule: mx.optimizer.Optimizer, part: Any, step: int) -> None:
    """MXNet's Adam adds epsilon before its bias correction: sqrt(v) + e, ours sqrt(v / c) + eps."""
    if part.kind in ("adam", "adamw"):
        rule.epsilon = part.eps * sqrt(1 - part.beta2 ** (step + 1))


def optimizer_state(part: OptimizerPart, slots: list[Array]) -> Any:
    """One parameter's slots, in our order, in the form in which its optimizer takes them."""
    if getattr(part, "momentum", None) == 0:
        return None  # a velocity that is never used again
    single = part.kind in ("momentum", "nesterov", "adagrad")
    return (slots[0] if single else tuple(slots)) if slots else None


def sign(slot: str) -> int:
    """Between our slot and MXNet's state."""
    return -1 if slot == "velocity" else 1
