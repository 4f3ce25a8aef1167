"""Training on several devices: splitting a batch, and accuracy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mxnet import gluon

from lockstep.d2l.measuring import Accumulator
from lockstep.d2l.mxnet.classification import accuracy


def split_batch(X: Any, y: Any, devices: Sequence[Any]) -> tuple[Any, Any]:
    """Parts of a batch, one on each device."""
    if X.shape[0] != y.shape[0]:
        raise ValueError(f"{X.shape[0]} inputs and {y.shape[0]} labels")
    load = gluon.utils.split_and_load
    return load(X, devices, even_split=False), load(y, devices, even_split=False)


def evaluate_accuracy_gpus(
    net: Any, data_iter: Any, split_f: Callable[..., Any] = split_batch
) -> float:
    """The share of hits, each batch divided among the devices of the net."""
    devices = next(iter(net.collect_params().values())).list_ctx()
    metric = Accumulator(2)
    for X, y in data_iter:
        for part, labels in zip(*split_f(X, y, devices), strict=True):
            metric.add(accuracy(net(part), labels), labels.size)
    return metric[0] / metric[1]
