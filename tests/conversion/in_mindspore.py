"""What a user of MindSpore writes to load a converted file."""

from __future__ import annotations

from typing import Any

import mindspore as ms
import numpy as np
from mindspore import nn
from safetensors.numpy import load_file


def mlp() -> Any:
    return nn.SequentialCell(nn.Flatten(), nn.Dense(5, 7), nn.ReLU(), nn.Dense(7, 2))


def conv(inputs: int, outputs: int, padding: int) -> Any:
    return nn.Conv2d(inputs, outputs, 5, pad_mode="pad", padding=padding, has_bias=True)


def lenet() -> Any:
    return nn.SequentialCell(
        conv(1, 6, 2), nn.ReLU(), nn.MaxPool2d(2, 2),
        conv(6, 16, 0), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(),
        nn.Dense(400, 120), nn.ReLU(), nn.Dense(120, 84), nn.ReLU(), nn.Dense(84, 10),
    )  # fmt: skip


class Text(nn.Cell):
    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer, self.output = layer(28, 4), nn.Dense(4, 28)

    def construct(self, hot: Any, h: Any) -> Any:
        return self.output(self.layer(hot, h)[0])


def outputs(kind: str, path: str, x: np.ndarray) -> np.ndarray:
    made = {"mlp": mlp, "lenet": lenet, "rnn": lambda: Text(nn.RNN), "gru": lambda: Text(nn.GRU)}
    net = made[kind]()
    arrays = load_file(path)
    parameters = {name: ms.Parameter(ms.Tensor(value), name) for name, value in arrays.items()}
    not_loaded, _ = ms.load_param_into_net(net, parameters)
    assert not_loaded == []
    given = ms.Tensor(x.astype("float32"))
    if kind == "lenet":
        return net(given.expand_dims(1)).asnumpy()
    if kind == "mlp":
        return net(given).asnumpy()
    return net(given, ms.Tensor(np.zeros((1, x.shape[1], 4), np.float32))).asnumpy()
