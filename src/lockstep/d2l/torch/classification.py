"""The training of chapter 6 on images."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from lockstep.d2l.classifying import accuracy, over
from lockstep.d2l.loops import train_images
from lockstep.d2l.torch.primitives import PRIMITIVES


def train_ch6(
    net: nn.Module, train_iter: Any, test_iter: Any, num_epochs: int, lr: float, device: Any
) -> None:
    """Train with SGD from Xavier's initial weights on a device."""

    def initialize(module: nn.Module) -> None:
        if isinstance(module, nn.Linear | nn.Conv2d):
            nn.init.xavier_uniform_(module.weight)

    net.apply(initialize)
    print("training on", device)
    net.to(device)
    optimizer, loss = torch.optim.SGD(net.parameters(), lr=lr), nn.CrossEntropyLoss()

    def step(X: Tensor, y: Tensor) -> tuple[float, float, int]:
        net.train()
        optimizer.zero_grad()
        X, y = X.to(device), y.to(device)
        y_hat = net(X)
        value = loss(y_hat, y)
        value.backward()
        optimizer.step()
        return float(value.detach()) * len(X), accuracy(y_hat, y), len(X)

    evaluate = lambda: over(PRIMITIVES).evaluate_accuracy_gpu(net, test_iter)  # noqa: E731
    train_images(step, train_iter, evaluate, num_epochs, device)
