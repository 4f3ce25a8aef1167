"""As Paddle's cells do it."""

from __future__ import annotations

from typing import Any

import paddle
from paddle import nn


def sgd_rule(params: Any, states: Any, hyperparams: Any) -> list[Any]:
    made = []
    with paddle.no_grad():
        for param in params:
            new = param - hyperparams["lr"] * param.grad
            new.stop_gradient = False
            made.append(new)
    return made


def concise() -> tuple[Any, dict[str, float]]:
    return paddle.optimizer.SGD, {"learning_rate": 0.1}


def linear() -> tuple[Any, Any, Any]:
    net = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
    optimizer = paddle.optimizer.SGD(learning_rate=0.1, parameters=net.parameters())
    return net, nn.CrossEntropyLoss(reduction="none"), optimizer


def train_ch6(d2l: Any, train: Any, test: Any) -> None:
    net = nn.Sequential(
        nn.Conv2D(1, 6, 5, padding=2), nn.ReLU(), nn.AvgPool2D(4), nn.Flatten(),
        nn.Linear(294, 10),
    )  # fmt: skip
    d2l.train_ch6(net, train, test, 2, 0.3, d2l.try_gpu())


def train_ch8(d2l: Any, batches: Any, vocab: Any) -> str:
    net = d2l.RNNModel(nn.GRU(len(vocab), 16, time_major=True), len(vocab))
    d2l.train_ch8(net, batches, vocab, 1.0, 60, d2l.try_gpu())
    return str(d2l.predict_ch8("ab", 6, net, vocab, d2l.try_gpu()))


def train_ch13(d2l: Any, train: Any, test: Any) -> None:
    net, loss, _ = linear()
    trainer = paddle.optimizer.SGD(0.1 / 64, net.parameters())  # the loss is the sum over a batch
    d2l.train_ch13(net, train, test, loss, trainer, 2, d2l.try_all_gpus())


def resnet(d2l: Any, images: Any) -> Any:
    net = d2l.resnet18(10)
    net.eval()
    return net(images)


REFUSAL = ValueError


def sent(array: Any, device: Any) -> Any:
    return paddle.to_tensor(array, place=device)
