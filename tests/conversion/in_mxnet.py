"""What a user of gluon writes to load a converted file."""

from __future__ import annotations

from typing import Any

import numpy as np
from safetensors.numpy import load_file

from lockstep.frameworks.mxnet.startup import mx  # without its warnings

gluon = mx.gluon
nn, rnn = gluon.nn, gluon.rnn
mx.npx.set_np()


def sequence(*layers: Any) -> Any:
    net = nn.HybridSequential()
    net.add(*layers)
    return net


def mlp() -> Any:
    return sequence(nn.Dense(7, activation="relu", in_units=5), nn.Dense(2, in_units=7))


def lenet() -> Any:
    return sequence(
        nn.Conv2D(6, 5, padding=2, activation="relu", in_channels=1), nn.MaxPool2D(2),
        nn.Conv2D(16, 5, activation="relu", in_channels=6), nn.MaxPool2D(2),
        nn.Dense(120, activation="relu", in_units=400),
        nn.Dense(84, activation="relu", in_units=120), nn.Dense(10, in_units=84),
    )  # fmt: skip


class Text(gluon.Block):
    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer
        self.output = nn.Dense(28, in_units=4, flatten=False)

    def forward(self, hot: Any) -> Any:
        states, _ = self.layer(hot, [mx.np.zeros((1, hot.shape[1], 4))])
        return self.output(states)


def outputs(kind: str, path: str, x: np.ndarray) -> np.ndarray:
    made = {
        "mlp": mlp,
        "lenet": lenet,
        "rnn": lambda: Text(rnn.RNN(4, activation="tanh", input_size=28)),
        "gru": lambda: Text(rnn.GRU(4, input_size=28)),
    }
    net = made[kind]()
    native = path + ".params"
    mx.npx.save(native, {name: mx.np.array(value) for name, value in load_file(path).items()})
    net.load_parameters(native)
    given = mx.np.array(x, dtype="float32")
    return net(mx.np.expand_dims(given, 1) if kind == "lenet" else given).asnumpy()
