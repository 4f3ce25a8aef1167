"""Classifiers of images: accuracy, and the loss over a data set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paddle

from lockstep.d2l.loops import evaluation_batches
from lockstep.d2l.measuring import Accumulator


def accuracy(y_hat: Any, y: Any) -> float:
    """The number of hits."""
    if len(y_hat.shape) > 1 and y_hat.shape[1] > 1:
        y_hat = y_hat.argmax(axis=1)
    hits = y_hat.astype(y.dtype).reshape([-1]) == y.reshape([-1])
    return float(hits.astype("float32").sum())


def evaluate_accuracy(net: Any, data_iter: Any) -> float:
    """The share of hits over all batches."""
    return evaluate_accuracy_gpu(net, data_iter)


def evaluate_accuracy_gpu(net: Any, data_iter: Any, device: Any = None) -> float:
    """The share of hits over all batches, computed on a device if one is given."""
    if isinstance(net, paddle.nn.Layer):
        net.eval()
    metric = Accumulator(2)
    with paddle.no_grad():
        for X, y in data_iter:
            if device is not None:
                X, y = (paddle.to_tensor(part, place=device) for part in (X, y))
            metric.add(accuracy(net(X), y), y.numel())
    return metric[0] / metric[1]


def evaluate_loss(net: Any, data_iter: Any, loss: Callable[[Any, Any], Any]) -> float:
    """The mean of a loss over all examples."""
    metric = Accumulator(2)
    with paddle.no_grad():
        for X, y in evaluation_batches(data_iter):
            out = net(X)
            each = loss(out, y.reshape(out.shape))
            metric.add(each.sum(), each.numel())
    return metric[0] / metric[1]
