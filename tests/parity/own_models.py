"""Models of a person's own: over Ops, and the same in each framework's layers."""

from __future__ import annotations

from typing import Any


def tagger(ops: Any, w: Any, x: Any) -> Any:
    """Symbols (N, T) to scores (N, T, C): each symbol by itself."""
    hidden = ops.tanh(ops.take(w["embedding"], x))  # (N, T, H)
    rows = ops.reshape(hidden, (x.shape[0] * x.shape[1], w["w"].shape[0]))
    return ops.reshape(rows @ w["w"] + w["b"], (*x.shape, w["w"].shape[1]))


def pairs(ops: Any, w: Any, x: Any) -> Any:
    """x (N, 4) to (N, 2, 2)."""
    return ops.reshape(x @ w["w"], (x.shape[0], 2, 2))


# --- in each framework: a tagger of 6 symbols, 5 hidden units and 4 classes; a network with noise
# and an activation to choose; and a layer that gives a tuple


def torch(kind: str, activation: str = "ReLU", dropout: float = 0.5) -> Any:
    import torch
    from torch import nn

    torch.manual_seed(1)
    if kind == "tagger":
        return nn.Sequential(nn.Embedding(6, 5), nn.Tanh(), nn.Linear(5, 4))
    if kind == "tuple":
        return nn.LSTM(4, 1)
    between = getattr(nn, activation)(), nn.Dropout(dropout)
    return nn.Sequential(nn.Linear(4, 8), *between, nn.Linear(8, 1))


def paddle(kind: str, activation: str = "ReLU", dropout: float = 0.5) -> Any:
    from lockstep.frameworks.paddle.startup import paddle  # without its warnings

    nn = paddle.nn

    class Pair(nn.Layer):
        def forward(self, x: Any) -> Any:
            return x, x

    paddle.seed(1)
    if kind == "tagger":
        return nn.Sequential(nn.Embedding(6, 5), nn.Tanh(), nn.Linear(5, 4))
    if kind == "tuple":
        return nn.Sequential(nn.Linear(4, 1), Pair())
    between = getattr(nn, activation)(), nn.Dropout(dropout)
    return nn.Sequential(nn.Linear(4, 8), *between, nn.Linear(8, 1))


def mindspore(kind: str, activation: str = "ReLU", dropout: float = 0.5) -> Any:
    import mindspore as ms
    from mindspore import nn, ops

    class Noise(nn.Cell):
        def __init__(self, share: float) -> None:
            super().__init__()
            self.share = share

        def construct(self, x: Any) -> Any:
            return ops.dropout(x, self.share, self.training)

    class Pair(nn.Cell):
        def construct(self, x: Any) -> Any:
            return x, x

    ms.set_seed(1)
    if kind == "tagger":
        return nn.SequentialCell(nn.Embedding(6, 5), nn.Tanh(), nn.Dense(5, 4))
    if kind == "tuple":
        return nn.SequentialCell(nn.Dense(4, 1), Pair())
    between = getattr(nn, activation)(), Noise(dropout)
    return nn.SequentialCell(nn.Dense(4, 8), *between, nn.Dense(8, 1))


def mxnet(kind: str, activation: str = "relu", dropout: float = 0.5) -> Any:
    import mxnet as mx
    from mxnet.gluon import nn

    class Pair(nn.HybridBlock):
        def forward(self, x: Any) -> Any:
            return x, x

    mx.random.seed(1)
    net = nn.HybridSequential()
    if kind == "tagger":
        net.add(nn.Embedding(6, 5), nn.Activation("tanh"), nn.Dense(4, flatten=False, in_units=5))
    elif kind == "tuple":
        net.add(nn.Dense(1, in_units=4), Pair())
    else:
        net.add(nn.Dense(8, in_units=4), nn.Activation(activation.lower()), nn.Dropout(dropout))
        net.add(nn.Dense(1, in_units=8))
    net.initialize(mx.init.Normal(0.5))
    return net


def tensorflow(kind: str, activation: str = "relu", dropout: float = 0.0) -> Any:
    from tensorflow import keras

    keras.utils.set_random_seed(1)
    layers = keras.layers
    if kind == "tagger":
        inner = [layers.Embedding(6, 5), layers.Activation("tanh"), layers.Dense(4)]
        return keras.Sequential([layers.Input((7,), dtype="int32"), *inner])
    if kind == "tuple":
        x = layers.Input((4,))
        y = layers.Dense(1)(x)
        return keras.Model(x, (y, y))
    inner = [layers.Dense(8, activation=activation.lower()), layers.Dense(1)]
    return keras.Sequential([layers.Input((4,)), *inner])


def jax(kind: str, activation: str = "relu", dropout: float = 0.0) -> Any:
    from flax import linen

    class Pair(linen.Module):
        @linen.compact
        def __call__(self, x: Any) -> Any:
            y = linen.Dense(1)(x)
            return y, y

    if kind == "tagger":
        return linen.Sequential([linen.Embed(6, 5), linen.tanh, linen.Dense(4)])
    if kind == "tuple":
        return Pair()
    chosen = getattr(linen, activation.lower())
    return linen.Sequential([linen.Dense(8), chosen, linen.Dense(1)])


MAKERS = {m.__name__: m for m in (torch, paddle, mindspore, mxnet, tensorflow, jax)}
DRAWING = ("torch", "paddle", "mindspore", "mxnet")  # those whose modules may have Dropout
