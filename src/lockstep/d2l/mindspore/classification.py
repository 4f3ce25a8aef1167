"""The training of chapter 6 on images."""

from __future__ import annotations

from typing import Any

import mindspore as ms
from mindspore import nn
from mindspore.common.initializer import XavierUniform, initializer

from lockstep.d2l.classifying import accuracy, over
from lockstep.d2l.loops import train_images
from lockstep.d2l.mindspore.primitives import PRIMITIVES


def train_ch6(net: Any, train_iter: Any, test_iter: Any, num_epochs: int, lr: float) -> None:
    """Train with SGD from Xavier's initial weights."""
    for _, cell in net.cells_and_names():
        if isinstance(cell, nn.Dense | nn.Conv2d):
            shape, dtype = cell.weight.shape, cell.weight.dtype
            cell.weight.set_data(initializer(XavierUniform(), shape, dtype))
    loss, optimizer = nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), learning_rate=lr)

    def forward(X: Any, y: Any) -> tuple[Any, Any]:
        y_hat = net(X)
        return loss(y_hat, y), y_hat

    gradients = ms.jit(ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True))

    def step(X: Any, y: Any) -> tuple[float, float, int]:
        net.set_train(True)
        (value, y_hat), grads = gradients(X, y)
        optimizer(grads)
        return float(value) * X.shape[0], accuracy(y_hat, y), X.shape[0]

    evaluate = lambda: over(PRIMITIVES).evaluate_accuracy(net, test_iter)  # noqa: E731
    train_images(step, train_iter, evaluate, num_epochs, ms.get_context("device_target"))
