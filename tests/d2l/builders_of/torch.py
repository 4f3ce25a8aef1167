"""As PyTorch's cells do it."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


def sgd_rule(params: Any, states: Any, hyperparams: Any) -> None:
    for param in params:
        param.data.sub_(hyperparams["lr"] * param.grad)
        param.grad.zero_()


def concise() -> tuple[Any, dict[str, float]]:
    return torch.optim.SGD, {"lr": 0.1}


def linear() -> tuple[Any, Any, Any]:
    net = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
    return net, nn.CrossEntropyLoss(reduction="none"), torch.optim.SGD(net.parameters(), lr=0.1)


def train_ch6(d2l: Any, train: Any, test: Any) -> None:
    net = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.AvgPool2d(4), nn.Flatten(),
        nn.Linear(294, 10),
    )  # fmt: skip
    d2l.train_ch6(net, train, test, 2, 0.3, d2l.try_gpu())


def train_ch8(d2l: Any, batches: Any, vocab: Any) -> str:
    net = d2l.RNNModel(nn.GRU(len(vocab), 16), len(vocab))
    d2l.train_ch8(net, batches, vocab, 1.0, 60, d2l.try_gpu())
    return str(d2l.predict_ch8("ab", 6, net, vocab, d2l.try_gpu()))


def train_ch13(d2l: Any, train: Any, test: Any) -> None:
    net, loss, _ = linear()
    trainer = torch.optim.SGD(net.parameters(), 0.1 / 64)  # the loss is the sum over a batch
    d2l.train_ch13(net, train, test, loss, trainer, 2, d2l.try_all_gpus())


def resnet(d2l: Any, images: Any) -> Any:
    return d2l.resnet18(10).eval()(images)
