"""The training of chapter 6 on images."""

from __future__ import annotations

from typing import Any

from mxnet import autograd, gluon, init

from lockstep.d2l.classifying import accuracy, over
from lockstep.d2l.loops import train_images
from lockstep.d2l.mxnet.primitives import PRIMITIVES


def train_ch6(
    net: Any, train_iter: Any, test_iter: Any, num_epochs: int, lr: float, device: Any
) -> None:
    """Train with SGD from Xavier's initial weights on a device."""
    net.initialize(force_reinit=True, ctx=device, init=init.Xavier())
    print("training on", device)
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": lr})

    def step(X: Any, y: Any) -> tuple[float, float, int]:
        X, y = X.as_in_ctx(device), y.as_in_ctx(device)
        with autograd.record():
            y_hat = net(X)
            each = loss(y_hat, y)
        each.backward()
        trainer.step(X.shape[0])
        return float(each.sum()), accuracy(y_hat, y), X.shape[0]

    evaluate = lambda: over(PRIMITIVES).evaluate_accuracy_gpu(net, test_iter)  # noqa: E731
    train_images(step, train_iter, evaluate, num_epochs, device)
