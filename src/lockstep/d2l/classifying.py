"""Accuracy and losses over a data set, and the training of chapter 3, in any framework."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.d2l import options
from lockstep.d2l.batches import get_fashion_mnist_labels
from lockstep.d2l.loops import epochs, evaluation_batches, train_classifier
from lockstep.d2l.numbers import to_numpy
from lockstep.d2l.plotting import show_images
from lockstep.d2l.primitives import Primitives
from lockstep.d2l.timer import Accumulator

Net = Callable[[Any], Any]


def accuracy(y_hat: Any, y: Any) -> float:
    """The number of hits.

    >>> accuracy([[0.1, 0.9], [0.8, 0.2]], [1, 1])
    1.0
    """
    said, wanted = to_numpy(y_hat), to_numpy(y)
    if said.ndim > 1 and said.shape[1] > 1:
        said = said.argmax(axis=1)
    return float((said.astype(wanted.dtype).reshape(wanted.shape) == wanted).sum())


class Evaluation:
    """What is measured of a net, in one framework."""

    def __init__(self, own: Primitives) -> None:
        self._own = own

    def evaluate_accuracy(self, net: Net, data_iter: Any) -> float:
        """The share of hits over all batches."""
        return self._share(net, data_iter, lambda array: array)

    def evaluate_accuracy_gpu(self, net: Net, data_iter: Any, device: Any = None) -> float:
        """The share of hits over all batches, on a device: the one given, or the net's."""
        device = self._own.device_of(net) if device is None else device
        return self._share(net, data_iter, lambda array: self._own.to_device(array, device))

    def _share(self, net: Net, data_iter: Any, moved: Callable[[Any], Any]) -> float:
        metric = Accumulator(2)
        with self._own.evaluating(net):
            for X, y in data_iter:
                inputs = [moved(x) for x in X] if isinstance(X, list) else moved(X)
                metric.add(accuracy(net(inputs), y), to_numpy(y).size)
        return metric[0] / metric[1]

    def evaluate_loss(self, net: Net, data_iter: Any, loss: Callable[[Any, Any], Any]) -> float:
        """The mean of a loss over all examples, or over batches if it gives their means."""
        metric = Accumulator(2)
        with self._own.evaluating(None):
            for X, y in evaluation_batches(data_iter):
                out = net(X)
                if len(y.shape) < len(out.shape) == 2 and out.shape[1] == 1:
                    y = self._own.reshape(y, out.shape)
                each = to_numpy(loss(out, y))
                metric.add(each.sum(), each.size)
        return metric[0] / metric[1]

    def predict_ch3(self, net: Net, test_iter: Any, n: int = 6) -> None:
        """The first images of the test set, with what they are and what the net says."""
        X, y = next(iter(test_iter))
        with self._own.evaluating(net):
            said = to_numpy(net(X)).argmax(axis=1)
        names = get_fashion_mnist_labels(to_numpy(y)), get_fashion_mnist_labels(said)
        titles = [f"{true}\n{guess}" for true, guess in zip(*names, strict=True)]
        images = to_numpy(X)[:n]
        plain = images.reshape(len(images), *(size for size in images.shape[1:] if size > 1))
        show_images(plain, 1, len(plain), titles=titles)


class Training(Evaluation):
    """The same, and the training of chapter 3."""

    def train_epoch_ch3(
        self, net: Net, train_iter: Any, loss: Callable[..., Any], updater: Any
    ) -> tuple[float, float]:
        """One epoch with an optimizer, or with an update of one's own; loss and accuracy."""
        assert self._own.update is not None
        metric = Accumulator(3)
        for X, y in train_iter:
            each, y_hat = self._own.update(net, X, y, loss, updater)
            values, count = to_numpy(each), to_numpy(y).size
            total = values.sum() if values.ndim else values * count  # it may be the mean
            metric.add(total, accuracy(y_hat, y), count)
        return metric[0] / metric[2], metric[1] / metric[2]

    def train_ch3(
        self, net: Net, train_iter: Any, test_iter: Any, loss: Callable[..., Any],
        num_epochs: int, updater: Any,
    ) -> None:  # fmt: skip
        """Train a classifier, and draw how it learns."""
        train_classifier(
            lambda: self.train_epoch_ch3(net, train_iter, loss, updater),
            lambda: self.evaluate_accuracy(net, test_iter),
            epochs(num_epochs, options.current().image_epochs),
        )


def over(own: Primitives) -> Evaluation:
    """These names in a framework; those that train only where an update is written for it."""
    return Evaluation(own) if own.update is None else Training(own)
