"""The models as Keras layers, and Keras' optimizers. The layout is in layout.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow import keras

from lockstep.errors import InputError
from lockstep.frameworks.step import Call
from lockstep.models import Model
from lockstep.models.feedforward import LinearNet, MLPNet
from lockstep.models.lenet import LeNetModel
from lockstep.models.recurrent import RecurrentNet
from lockstep.ops import Array, Weights
from lockstep.spec.parts import Adam, AdamW, OptimizerPart


def build(model: Model, precision: str) -> keras.Model:
    """The Keras model that is the same model as `model`, with weights of zero."""
    # zeros: weights come from a run's snapshot, and nobody's random numbers are drawn
    common = {"dtype": precision, "kernel_initializer": "zeros"}
    match model:
        case LinearNet(num_inputs, num_outputs):
            x = keras.Input((num_inputs,), dtype=precision)
            return keras.Model(x, _layers(x, (num_outputs,), common))
        case MLPNet(sizes):
            x = keras.Input((sizes[0],), dtype=precision)
            return keras.Model(x, _layers(x, sizes[1:], common))
        case LeNetModel(pooling):
            x = keras.Input((28, 28, 1), dtype=precision)
            return keras.Model(x, _lenet(x, pooling, common))
        case RecurrentNet():
            return _recurrent(model, common)
    raise InputError("model", type(model).__name__, "has no Keras form", "Use --style scratch.")


def _layers(x: Any, sizes: tuple[int, ...], common: dict[str, Any]) -> Any:
    """Dense layers fc1, fc2 ... with ReLU between them."""
    for i, size in enumerate(sizes, 1):
        activation = "relu" if i < len(sizes) else None
        x = keras.layers.Dense(size, activation, name=f"fc{i}", **common)(x)
    return x


def _lenet(x: Any, pooling: str, common: dict[str, Any]) -> Any:
    if pooling == "max":
        convolutions, pool = ((6, 5, "same"), (16, 5, "valid")), keras.layers.MaxPooling2D
        sizes: tuple[int, ...] = (120, 84, 10)
    else:
        convolutions, pool = ((20, 3, "valid"), (50, 5, "valid")), keras.layers.AveragePooling2D
        sizes = (128, 10)
    for i, (channels, width, padding) in enumerate(convolutions, 1):
        x = keras.layers.Conv2D(
            channels, width, padding=padding, activation="relu", name=f"conv{i}", **common
        )(x)
        x = pool(2, dtype=common["dtype"])(x)
    return _layers(keras.layers.Flatten(dtype=common["dtype"])(x), sizes, common)


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


def call(model: Model, module: keras.Model) -> Call:
    """The Keras form of a model as a function of its weights, by their paths."""
    paths = [v.path for v in module.trainable_variables]
    others = [v.value for v in module.non_trainable_variables]  # seeds of a dropout that is not on

    def apply(w: Weights, inputs: Any) -> Any:
        return module.stateless_call([w[path] for path in paths], others, inputs)[0]

    def flat(w: Weights, x: Array, carry: Weights) -> tuple[Array, Weights]:
        return apply(w, tf.reshape(x, (x.shape[0], -1))), carry

    def image(w: Weights, x: Array, carry: Weights) -> tuple[Array, Weights]:
        return apply(w, x[..., None]), carry  # (B, 28, 28, 1)

    def text(w: Weights, x: Array, carry: Weights) -> tuple[Array, Weights]:
        h = carry["h"]
        hot = tf.one_hot(tf.transpose(x), w["output/bias"].shape[0], dtype=h.dtype)  # (B, T, V)
        scores, h = apply(w, [hot, h])
        return tf.transpose(scores, (1, 0, 2)), {"h": h}

    if isinstance(model, RecurrentNet):
        return text
    return image if isinstance(model, LeNetModel) else flat


# --- optimizers ---------------------------------------------------------------------------------

SLOTS = {  # our slots -> the lists of variables in which Keras keeps them
    "sgd": {},
    "momentum": {"velocity": "momentums"},
    "nesterov": {"velocity": "momentums"},
    "adagrad": {"sum_squares": "_accumulators"},
    "rmsprop": {"mean_squares": "_velocities"},
    "adadelta": {"mean_squares": "_accumulated_grads", "mean_deltas": "_accumulated_delta_vars"},
    "adam": {"mean": "_momentums", "mean_squares": "_velocities"},
    "adamw": {"mean": "_momentums", "mean_squares": "_velocities"},
}


def optimizer(
    part: OptimizerPart, rate: Callable[[], Array], precision: str
) -> keras.optimizers.Optimizer:
    """Keras' optimizer of that kind. Its weight decay is AdamW's, ours elsewhere is added to the
    gradient: only AdamW is told of it."""
    o: Any = part
    rules = keras.optimizers
    # Keras casts a plain number by way of float32, and computes in float64 with one of NumPy
    number = np.float64 if precision == "float64" else float
    if isinstance(part, Adam):
        betas = {"beta_1": number(o.beta1), "beta_2": number(o.beta2)}
        if isinstance(part, AdamW):
            return rules.AdamW(rate, weight_decay=number(o.weight_decay), **betas)
        return rules.Adam(rate, **betas)
    match part.kind:
        case "momentum" | "nesterov":
            ahead = part.kind == "nesterov"
            return rules.SGD(rate, momentum=number(o.momentum), nesterov=ahead)
        # Keras adds eps under the root: its square there bounds the difference by eps
        case "adagrad":
            return rules.Adagrad(rate, initial_accumulator_value=0.0, epsilon=o.eps**2)
        case "rmsprop":
            return rules.RMSprop(rate, rho=o.decay, epsilon=o.eps**2)
        case "adadelta":
            return rules.Adadelta(rate, rho=o.decay, epsilon=o.eps)
    return rules.SGD(rate)
