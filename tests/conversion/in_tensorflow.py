"""What a user of Keras writes to load a converted file."""

from __future__ import annotations

from typing import Any

import numpy as np
from safetensors.numpy import load_file
from tensorflow import keras

layers = keras.layers


def mlp() -> Any:
    return keras.Sequential(
        [keras.Input((5,)), layers.Dense(7, "relu", name="fc1"), layers.Dense(2, name="fc2")]
    )


def lenet() -> Any:
    return keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(6, 5, padding="same", activation="relu", name="conv1"),
            layers.MaxPooling2D(),
            layers.Conv2D(16, 5, activation="relu", name="conv2"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(120, "relu", name="fc1"),
            layers.Dense(84, "relu", name="fc2"),
            layers.Dense(10, name="fc3"),
        ]
    )


def text(layer: Any) -> Any:
    return keras.Sequential([keras.Input((None, 28)), layer, layers.Dense(28, name="output")])


def outputs(kind: str, path: str, x: np.ndarray) -> np.ndarray:
    own = {"name": "layer", "return_sequences": True}
    net = {
        "mlp": mlp,
        "lenet": lenet,
        "rnn": lambda: text(layers.SimpleRNN(4, **own)),
        "gru": lambda: text(layers.GRU(4, **own)),
        "gru before": lambda: text(layers.GRU(4, reset_after=False, **own)),
    }[kind]()
    arrays = load_file(path)
    for variable in net.weights:  # "sequential/fc1/kernel"
        variable.assign(arrays.pop(variable.path.partition("/")[2]))
    assert not arrays
    if kind == "lenet":
        return np.asarray(net(x[..., None].astype("float32")))
    if kind == "mlp":
        return np.asarray(net(x.astype("float32")))
    return np.asarray(net(x.astype("float32").transpose(1, 0, 2))).transpose(1, 0, 2)
