"""What a user of Paddle writes to load a converted file."""

from __future__ import annotations

from typing import Any

import numpy as np
from safetensors.numpy import load_file

from lockstep.frameworks.paddle.startup import paddle  # without its warnings

nn = paddle.nn


def mlp() -> Any:
    return nn.Sequential(nn.Flatten(), nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 2))


def lenet() -> Any:
    return nn.Sequential(
        nn.Conv2D(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2D(2),
        nn.Conv2D(6, 16, 5), nn.ReLU(), nn.MaxPool2D(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip


class Text(nn.Layer):
    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer, self.output = layer(28, 4, time_major=True), nn.Linear(4, 28)

    def forward(self, hot: Any) -> Any:
        return self.output(self.layer(hot)[0])


def outputs(kind: str, path: str, x: np.ndarray) -> np.ndarray:
    made = {
        "mlp": mlp,
        "lenet": lenet,
        "rnn": lambda: Text(nn.SimpleRNN),
        "gru": lambda: Text(nn.GRU),
    }
    net = made[kind]()
    missing, unexpected = net.set_state_dict(
        {name: paddle.to_tensor(value) for name, value in load_file(path).items()}
    )
    assert (missing, unexpected) == ([], [])
    given = paddle.to_tensor(x.astype("float32"))
    return net(given.unsqueeze(1) if kind == "lenet" else given).numpy()
