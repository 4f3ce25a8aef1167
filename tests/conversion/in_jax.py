"""What a user of Flax writes to load a converted file."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from flax import traverse_util
from safetensors.flax import load_file


class MLP(nn.Module):
    @nn.compact
    def __call__(self, x: Any) -> Any:
        return nn.Dense(2, name="fc2")(nn.relu(nn.Dense(7, name="fc1")(x)))


class Head(nn.Module):
    @nn.compact
    def __call__(self, x: Any) -> Any:
        x = nn.relu(nn.Dense(120, name="fc1")(x))
        return nn.Dense(10, name="fc3")(nn.relu(nn.Dense(84, name="fc2")(x)))


class LeNet(nn.Module):
    @nn.compact
    def __call__(self, x: Any) -> Any:
        x = nn.relu(nn.Conv(6, (5, 5), padding=2, name="conv1")(x[..., None]))
        x = nn.relu(nn.Conv(16, (5, 5), padding=0, name="conv2")(nn.max_pool(x, (2, 2), (2, 2))))
        x = nn.max_pool(x, (2, 2), (2, 2)).transpose(0, 3, 1, 2)  # channels first, then flat
        return Head(name="dense")(x.reshape(len(x), -1))


class RNN(nn.Module):
    @nn.compact
    def __call__(self, hot: Any) -> Any:
        states = nn.RNN(nn.SimpleCell(4, name="cell"), time_major=True)(hot)
        return nn.Dense(28, name="output")(states)


class Cell(nn.Module):
    @nn.compact
    def __call__(self, h: Any, p: Any) -> tuple[Any, Any]:
        q = nn.Dense(12, name="hidden")(h)
        z, r = nn.sigmoid(p[:, :4] + q[:, :4]), nn.sigmoid(p[:, 4:8] + q[:, 4:8])
        h = z * h + (1 - z) * jnp.tanh(p[:, 8:] + r * q[:, 8:])
        return h, h


class GRU(nn.Module):
    @nn.compact
    def __call__(self, hot: Any) -> Any:
        cell, h, states = Cell(name="cell"), jnp.zeros((hot.shape[1], 4)), []
        for p in nn.Dense(12, name="input")(hot):
            h, state = cell(h, p)
            states.append(state)
        return nn.Dense(28, name="output")(jnp.stack(states))


def outputs(kind: str, path: str, x: np.ndarray) -> np.ndarray:
    net = {"mlp": MLP, "lenet": LeNet, "rnn": RNN, "gru": GRU}[kind]()
    params = traverse_util.unflatten_dict(load_file(path), sep="/")
    return np.asarray(net.apply({"params": params}, jnp.asarray(x, jnp.float32)))
