"""As MXNet's cells do it."""

from __future__ import annotations

from typing import Any

from mxnet import base, gluon, init, npx
from mxnet.gluon import nn, rnn

npx.set_np()


def sgd_rule(params: Any, states: Any, hyperparams: Any) -> None:
    for param in params:
        param[:] -= hyperparams["lr"] * param.grad


def concise() -> tuple[Any, dict[str, float]]:
    return "sgd", {"learning_rate": 0.1}


def linear() -> tuple[Any, Any, Any]:
    net = nn.Sequential()
    net.add(nn.Dense(10))
    net.initialize(init.Normal(sigma=0.01))
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    return net, gluon.loss.SoftmaxCrossEntropyLoss(), trainer


def train_ch6(d2l: Any, train: Any, test: Any) -> None:
    net = nn.Sequential()
    net.add(nn.Conv2D(6, 5, padding=2, activation="relu"), nn.AvgPool2D(4), nn.Dense(10))
    d2l.train_ch6(net, train, test, 2, 0.3, d2l.try_gpu())


def train_ch8(d2l: Any, batches: Any, vocab: Any) -> str:
    net = d2l.RNNModel(rnn.GRU(16), len(vocab))
    d2l.train_ch8(net, batches, vocab, 1.0, 120, d2l.try_gpu())  # from weights of 0.01
    return str(d2l.predict_ch8("ab", 6, net, vocab, d2l.try_gpu()))


def train_ch13(d2l: Any, train: Any, test: Any) -> None:
    net, loss, trainer = linear()
    d2l.train_ch13(net, train, test, loss, trainer, 2, d2l.try_all_gpus())


def resnet(d2l: Any, images: Any) -> Any:
    net = d2l.resnet18(10)
    net.initialize()
    return net(images)


REFUSAL = base.MXNetError


def sent(array: Any, device: Any) -> Any:
    return array.copyto(device)
