"""The training of chapter 6 on images."""

from __future__ import annotations

from typing import Any

import paddle
from paddle import nn

from lockstep.d2l.classifying import accuracy, over
from lockstep.d2l.loops import train_images
from lockstep.d2l.paddle.primitives import PRIMITIVES


def train_ch6(
    net: Any, train_iter: Any, test_iter: Any, num_epochs: int, lr: float, device: Any
) -> None:
    """Train with SGD from Xavier's initial weights on a device."""
    initial = nn.initializer.XavierUniform()
    for layer in net.sublayers(include_self=True):
        if isinstance(layer, nn.Linear | nn.Conv2D):
            initial(layer.weight)
    print("training on", device)
    loss = nn.CrossEntropyLoss()
    optimizer = paddle.optimizer.SGD(learning_rate=lr, parameters=net.parameters())

    def step(X: Any, y: Any) -> tuple[float, float, int]:
        value, y_hat = PRIMITIVES.update(net, X, y, loss, optimizer)  # type: ignore[misc]
        return float(value) * X.shape[0], accuracy(y_hat, y), X.shape[0]

    evaluate = lambda: over(PRIMITIVES).evaluate_accuracy(net, test_iter)  # noqa: E731
    train_images(step, train_iter, evaluate, num_epochs, device)
