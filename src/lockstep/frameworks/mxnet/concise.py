"""The models as gluon has them, and mx.optimizer's optimizers. layout.py has their arrays."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import mxnet as mx
from mxnet import gluon, npx

from lockstep.errors import InputError
from lockstep.models import Model
from lockstep.models.feedforward import LinearNet, MLPNet
from lockstep.models.lenet import LeNetModel
from lockstep.models.recurrent import RecurrentNet
from lockstep.ops import Array, Weights
from lockstep.spec.parts import Adam, OptimizerPart

nn, rnn = gluon.nn, gluon.rnn
Call = Callable[[gluon.Block, Array, Weights], tuple[Array, Weights]]


def build(model: Model) -> tuple[gluon.HybridBlock, Call]:
    """The block that is the same model as `model`, and how it is called."""
    match model:
        case LinearNet(num_inputs, num_outputs):
            return _sequence(nn.Dense(num_outputs, in_units=num_inputs)), _plain_call
        case MLPNet(sizes):
            return _sequence(*_dense(sizes)), _plain_call
        case LeNetModel(pooling):
            return _sequence(*_lenet(pooling)), _image_call
        case RecurrentNet():
            return TextBlock(model), _text_call
    raise InputError("model", type(model).__name__, "has no gluon form", "Use --style scratch.")


def _sequence(*layers: gluon.HybridBlock) -> gluon.HybridBlock:
    block = nn.HybridSequential()
    block.add(*layers)
    return block


def _dense(sizes: tuple[int, ...]) -> list[gluon.HybridBlock]:
    """Dense layers with ReLU between them; the first flattens what it is given."""
    activations = ["relu"] * (len(sizes) - 2) + [None]
    pairs = zip(sizes, sizes[1:], activations, strict=False)
    return [nn.Dense(out, in_units=inputs, activation=a) for inputs, out, a in pairs]


def _lenet(pooling: str) -> list[gluon.HybridBlock]:
    if pooling == "max":
        features = [nn.Conv2D(6, 5, padding=2, in_channels=1, activation="relu"), nn.MaxPool2D(2)]
        features += [nn.Conv2D(16, 5, in_channels=6, activation="relu"), nn.MaxPool2D(2)]
        return features + _dense((400, 120, 84, 10))
    features = [nn.Conv2D(20, 3, in_channels=1, activation="relu"), nn.AvgPool2D(2)]
    features += [nn.Conv2D(50, 5, in_channels=20, activation="relu"), nn.AvgPool2D(2)]
    return features + _dense((800, 128, 10))


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
        self.output = nn.Dense(v, in_units=n, flatten=False)

    def hybrid_forward(self, F: Any, hot: Array, h: Array) -> tuple[Array, Array]:
        states, last = self.layer(hot, [h])
        return self.output(states), last[0]


def _plain_call(block: gluon.Block, x: Array, carry: Weights) -> tuple[Array, Weights]:
    return block(x), carry


def _image_call(block: gluon.Block, x: Array, carry: Weights) -> tuple[Array, Weights]:
    return block(mx.np.expand_dims(x, 1)), carry  # (B, 1, 28, 28)


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


def optimizer(part: OptimizerPart, step: int) -> mx.optimizer.Optimizer:
    """mx.optimizer's optimizer of that kind after `step` updates."""
    o: Any = part
    common = {"learning_rate": 1.0, "begin_num_update": step}
    if isinstance(part, Adam):  # MXNet has no AdamW but a kernel: its decay is added by the caller
        return mx.optimizer.Adam(beta1=o.beta1, beta2=o.beta2, epsilon=o.eps, **common)
    match part.kind:
        case "sgd":
            return mx.optimizer.SGD(**common)
        case "momentum":
            return mx.optimizer.SGD(momentum=o.momentum, **common)
        case "nesterov":
            return mx.optimizer.NAG(momentum=o.momentum, **common)
        case "adagrad":
            return mx.optimizer.AdaGrad(eps=o.eps**2, **common)
        case "rmsprop":
            return mx.optimizer.RMSProp(gamma1=o.decay, epsilon=o.eps**2, **common)
    return mx.optimizer.AdaDelta(rho=o.decay, epsilon=o.eps, **common)


def set_step(rule: mx.optimizer.Optimizer, part: OptimizerPart, step: int) -> None:
    """MXNet's Adam adds epsilon before its bias correction: sqrt(v) + e, ours sqrt(v / c) + eps."""
    if isinstance(part, Adam):
        rule.epsilon = part.eps * sqrt(1 - part.beta2 ** (step + 1))


def native_state(part: OptimizerPart, slots: list[Array]) -> Any:
    """One parameter's slots, in our order, in the form in which its optimizer takes them."""
    if getattr(part, "momentum", None) == 0:
        return None  # a velocity that is never used again
    single = part.kind in ("momentum", "nesterov", "adagrad")
    return (slots[0] if single else tuple(slots)) if slots else None


def sign(slot: str) -> int:
    """Between our slot and MXNet's state."""
    return -1 if slot == "velocity" else 1
