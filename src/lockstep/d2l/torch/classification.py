"""Classifiers of images: accuracy, and the training functions of chapters 3 and 6."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from lockstep.d2l import options
from lockstep.d2l.batches import get_fashion_mnist_labels
from lockstep.d2l.loops import epochs, evaluation_batches, train_classifier, train_images
from lockstep.d2l.measuring import Accumulator
from lockstep.d2l.plotting import show_images

Net = nn.Module | Callable[[Any], Tensor]


def accuracy(y_hat: Tensor, y: Tensor) -> float:
    """The number of hits.

    >>> accuracy(torch.tensor([[0.1, 0.9], [0.8, 0.2]]), torch.tensor([1, 1]))
    1.0
    """
    if y_hat.ndim > 1 and y_hat.shape[1] > 1:
        y_hat = y_hat.argmax(dim=1)
    return float((y_hat.type(y.dtype) == y).sum())


def evaluate_accuracy(net: Net, data_iter: Any) -> float:
    """The share of hits over all batches."""
    return evaluate_accuracy_gpu(net, data_iter, torch.device("cpu"))


def evaluate_accuracy_gpu(net: Net, data_iter: Any, device: torch.device | None = None) -> float:
    """The share of hits over all batches, computed on a device: the one given, or the net's."""
    if isinstance(net, nn.Module):
        net.eval()
        device = device or next((p.device for p in net.parameters()), None)
    metric = Accumulator(2)
    with torch.no_grad():
        for X, y in data_iter:
            inputs = [x.to(device) for x in X] if isinstance(X, list) else X.to(device)
            metric.add(accuracy(net(inputs), y.to(device)), y.numel())
    return metric[0] / metric[1]


def evaluate_loss(net: Net, data_iter: Any, loss: Callable[[Tensor, Tensor], Tensor]) -> float:
    """The mean of a loss over all examples."""
    total, count = torch.zeros(()), 0
    with torch.no_grad():
        for X, y in evaluation_batches(data_iter):
            out = net(X)
            each = loss(out, y.reshape(out.shape))
            total, count = total + each.sum(), count + each.numel()
    return float(total) / count


def train_epoch_ch3(
    net: Net, train_iter: Any, loss: Callable[..., Tensor], updater: Any
) -> tuple[float, float]:
    """One epoch with PyTorch's optimizer, or with an update of one's own; loss and accuracy."""
    if isinstance(net, nn.Module):
        net.train()
    metric = Accumulator(3)
    for X, y in train_iter:
        y_hat = net(X)
        each = loss(y_hat, y)
        if isinstance(updater, torch.optim.Optimizer):
            updater.zero_grad()
            each.mean().backward()
            updater.step()
        else:
            each.sum().backward()
            updater(X.shape[0])
        total = each.sum() if each.ndim else each * len(y)
        metric.add(total.detach(), accuracy(y_hat, y), y.numel())
    return metric[0] / metric[2], metric[1] / metric[2]


def train_ch3(
    net: Net, train_iter: Any, test_iter: Any, loss: Callable[..., Tensor], num_epochs: int,
    updater: Any,
) -> None:  # fmt: skip
    train_classifier(
        lambda: train_epoch_ch3(net, train_iter, loss, updater),
        lambda: evaluate_accuracy(net, test_iter),
        epochs(num_epochs, options.current().image_epochs),
    )


def predict_ch3(net: Net, test_iter: Any, n: int = 6) -> None:
    """The first images of the test set, with what they are and what the net says."""
    X, y = next(iter(test_iter))
    said: Sequence[Any] = net(X).argmax(dim=1)  # type: ignore[assignment]
    pairs = zip(get_fashion_mnist_labels(y), get_fashion_mnist_labels(said), strict=True)
    titles = [f"{true}\n{guess}" for true, guess in pairs]
    show_images(X[:n].reshape(n, 28, 28), 1, n, titles=titles[:n])


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
        return float(value) * len(X), accuracy(y_hat, y), len(X)

    evaluate = lambda: evaluate_accuracy_gpu(net, test_iter)  # noqa: E731
    train_images(step, train_iter, evaluate, num_epochs, device)
