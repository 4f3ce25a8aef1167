"""Classifiers of images: accuracy, and the training functions of chapters 3 and 6."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mxnet import autograd, gluon, init

from lockstep.d2l import options
from lockstep.d2l.batches import get_fashion_mnist_labels
from lockstep.d2l.loops import epochs, evaluation_batches, train_classifier, train_images
from lockstep.d2l.measuring import Accumulator
from lockstep.d2l.plotting import show_images


def accuracy(y_hat: Any, y: Any) -> float:
    """The number of hits."""
    if y_hat.ndim > 1 and y_hat.shape[1] > 1:
        y_hat = y_hat.argmax(axis=1)
    return float((y_hat.astype(y.dtype) == y).astype("float32").sum())


def evaluate_accuracy(net: Any, data_iter: Any) -> float:
    """The share of hits over all batches."""
    metric = Accumulator(2)
    for X, y in data_iter:
        metric.add(accuracy(net(X), y), y.size)
    return metric[0] / metric[1]


def evaluate_accuracy_gpu(net: Any, data_iter: Any, device: Any = None) -> float:
    """The share of hits, computed on a device: the one given, or the net's first."""
    if device is None:
        device = next(iter(net.collect_params().values())).list_ctx()[0]
    metric = Accumulator(2)
    for X, y in data_iter:
        X, y = X.as_in_ctx(device), y.as_in_ctx(device)
        metric.add(accuracy(net(X), y), y.size)
    return metric[0] / metric[1]


def evaluate_loss(net: Any, data_iter: Any, loss: Callable[[Any, Any], Any]) -> float:
    """The mean of a loss over all examples."""
    metric = Accumulator(2)
    for X, y in evaluation_batches(data_iter):
        each = loss(net(X), y)
        metric.add(each.sum(), each.size)
    return metric[0] / metric[1]


def train_epoch_ch3(
    net: Any, train_iter: Any, loss: Callable[..., Any], updater: Any
) -> tuple[float, float]:
    """One epoch with Gluon's trainer, or with an update of one's own; loss and accuracy."""
    update = updater.step if isinstance(updater, gluon.Trainer) else updater
    metric = Accumulator(3)
    for X, y in train_iter:
        with autograd.record():
            y_hat = net(X)
            each = loss(y_hat, y)
        each.backward()
        update(X.shape[0])
        metric.add(each.sum(), accuracy(y_hat, y), y.size)
    return metric[0] / metric[2], metric[1] / metric[2]


def train_ch3(
    net: Any, train_iter: Any, test_iter: Any, loss: Callable[..., Any], num_epochs: int,
    updater: Any,
) -> None:  # fmt: skip
    train_classifier(
        lambda: train_epoch_ch3(net, train_iter, loss, updater),
        lambda: evaluate_accuracy(net, test_iter),
        epochs(num_epochs, options.current().image_epochs),
    )


def predict_ch3(net: Any, test_iter: Any, n: int = 6) -> None:
    """The first images of the test set, with what they are and what the net says."""
    X, y = next(iter(test_iter))
    said = net(X).argmax(axis=1)
    pairs = zip(get_fashion_mnist_labels(y), get_fashion_mnist_labels(said), strict=True)
    titles = [f"{true}\n{guess}" for true, guess in pairs]
    show_images(X[:n].reshape((n, 28, 28)), 1, n, titles=titles[:n])


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

    evaluate = lambda: evaluate_accuracy_gpu(net, test_iter)  # noqa: E731
    train_images(step, train_iter, evaluate, num_epochs, device)
