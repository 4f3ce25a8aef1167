"""Models as Keras layers, and Keras' optimizers. layout.py has their arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow import keras

from lockstep.frameworks.concise import native_maker
from lockstep.frameworks.layout import no_form
from lockstep.frameworks.step import Call
from lockstep.models import Model
from lockstep.models.layers import (
    AvgPool,
    Convolution,
    Dense,
    Flatten,
    Layer,
    MaxPool,
    ReLU,
    Sequential,
)
from lockstep.models.recurrent import RecurrentNet
from lockstep.ops import Array, Weights
from lockstep.spec.parts import OptimizerPart


def build(model: Model, precision: str) -> tuple[keras.Model, Call]:
    """The Keras model that is the same model as `model`, with weights of zero; and its call of
    weights, by their paths, x and carry."""
    match model:
        case Sequential():
            return _sequential(model, precision)
        case RecurrentNet():
            return _language_model(model, precision)
    raise no_form(model, "Keras")


def _sequential(model: Sequential, precision: str) -> tuple[keras.Model, Call]:
    image = len(model.input_shape) == 3
    channels, *places = model.input_shape
    shape = (*places, channels) if image else model.input_shape
    first = last = keras.Input(shape, dtype=precision)
    for layer in model.layers:
        last = _layer(layer, last, precision)
    module = keras.Model(first, last)
    stateless = _stateless(module)

    def call(w: Weights, x: Array, carry: Weights) -> tuple[Array, Weights]:
        if image:  # (B, C, H, W) -> (B, H, W, C)
            x = tf.transpose(tf.reshape(x, (x.shape[0], *model.input_shape)), (0, 2, 3, 1))
        return stateless(w, x), carry

    return module, call


def _layer(layer: Layer, x: Any, precision: str) -> Any:
    """The Keras layer of a description, applied to a tensor of Keras."""
    layers, common = keras.layers, _common(precision)
    match layer:
        case Flatten():
            return layers.Flatten(dtype=precision)(x)
        case ReLU():
            return layers.ReLU(dtype=precision)(x)
        case MaxPool(size):
            return layers.MaxPooling2D(size, dtype=precision)(x)
        case AvgPool(size):
            return layers.AveragePooling2D(size, dtype=precision)(x)
        case Dense():
            return layers.Dense(layer.outputs, name=layer.name, **common)(x)
        case Convolution():
            padding = "same" if 2 * layer.padding == layer.kernel - 1 else "valid"
            if layer.padding and padding == "valid":
                x = layers.ZeroPadding2D(layer.padding, dtype=precision)(x)
            convolution = layers.Conv2D(
                layer.outputs, layer.kernel, padding=padding, name=layer.name, **common
            )
            return convolution(x)


def _common(precision: str) -> dict[str, Any]:
    # zeros: weights come from a run's snapshot, and no random numbers are drawn
    return {"dtype": precision, "kernel_initializer": "zeros"}


def _language_model(model: RecurrentNet, precision: str) -> tuple[keras.Model, Call]:
    module = _recurrent(model, _common(precision))
    stateless = _stateless(module)

    def call(w: Weights, x: Array, carry: Weights) -> tuple[Array, Weights]:
        h = carry["h"]
        hot = tf.one_hot(tf.transpose(x), model.vocab_size, dtype=h.dtype)  # (B, T, V)
        scores, h = stateless(w, [hot, h])
        return tf.transpose(scores, (1, 0, 2)), {"h": h}

    return module, call


def _recurrent(model: RecurrentNet, common: dict[str, Any]) -> keras.Model:
    """One-hot symbols (B, T, V) and the state (B, H) to scores (B, T, V) and the state."""
    own = {
        "units": model.num_hiddens,
        "name": "layer",
        "recurrent_initializer": "zeros",
        "return_sequences": True,
        "return_state": True,
        **common,
    }
    if model.gates == 1:
        layer = keras.layers.SimpleRNN(**own)
    else:
        # cuDNN's kernel cannot stand in code compiled by XLA
        layer = keras.layers.GRU(reset_after=model.reset == "after", use_cudnn=False, **own)
    x = keras.Input((None, model.vocab_size), dtype=common["dtype"])
    h = keras.Input((model.num_hiddens,), dtype=common["dtype"])
    states, last = layer(x, initial_state=h)
    scores = keras.layers.Dense(model.vocab_size, name="output", **common)(states)
    return keras.Model([x, h], [scores, last])


def _stateless(module: keras.Model) -> Callable[[Weights, Any], Any]:
    paths = [v.path for v in module.trainable_variables]
    others = [v.value for v in module.non_trainable_variables]  # seeds of a dropout that is not on
    return lambda w, x: module.stateless_call([w[path] for path in paths], others, x)[0]


# --- optimizers ---------------------------------------------------------------------------------

SLOTS = {  # our slots -> the lists of variables in which Keras keeps them
    "momentum": {"velocity": "momentums"},
    "nesterov": {"velocity": "momentums"},
    "adagrad": {"sum_squares": "_accumulators"},
    "rmsprop": {"mean_squares": "_velocities"},
    "adadelta": {"mean_squares": "_accumulated_grads", "mean_deltas": "_accumulated_delta_vars"},
    "adam": {"mean": "_momentums", "mean_squares": "_velocities"},
    "adamw": {"mean": "_momentums", "mean_squares": "_velocities"},
}
# Each with its settings; Keras casts a plain number by way of float32, and computes in float64 with
# one of NumPy, which `n` makes. Keras' weight decay is AdamW's; ours elsewhere is added to the
# gradient: only AdamW is given it. Keras adds eps under the root: its square there bounds the
# difference by eps.
_RULES = keras.optimizers
MAKERS = {
    "sgd": lambda o, n: (_RULES.SGD, {}),
    "momentum": lambda o, n: (_RULES.SGD, {"momentum": n(o.momentum)}),
    "nesterov": lambda o, n: (_RULES.SGD, {"momentum": n(o.momentum), "nesterov": True}),
    "adagrad": lambda o, n: (
        _RULES.Adagrad,
        {"initial_accumulator_value": 0.0, "epsilon": o.eps**2},
    ),
    "rmsprop": lambda o, n: (_RULES.RMSprop, {"rho": o.decay, "epsilon": o.eps**2}),
    "adadelta": lambda o, n: (_RULES.Adadelta, {"rho": o.decay, "epsilon": o.eps}),
    "adam": lambda o, n: (_RULES.Adam, _betas(o, n)),
    "adamw": lambda o, n: (_RULES.AdamW, _betas(o, n) | {"weight_decay": n(o.weight_decay)}),
}


def _betas(o: Any, n: Callable[[float], Any]) -> dict[str, Any]:
    return {"beta_1": n(o.beta1), "beta_2": n(o.beta2)}


def optimizer(
    part: OptimizerPart, rate: Callable[[], Array], precision: str
) -> keras.optimizers.Optimizer:
    """Keras' optimizer of that kind."""
    number = np.float64 if precision == "float64" else float
    rule, settings = native_maker(MAKERS, part, "Keras")(part, number)
    return rule(rate, **settings)
