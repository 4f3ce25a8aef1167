"""Training on several devices: splitting a batch, ResNet-18, and the training of chapter 13."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mxnet import autograd, gluon, npx
from mxnet.gluon import nn

from lockstep.d2l.classifying import accuracy
from lockstep.d2l.gpus import Gpus
from lockstep.d2l.loops import train_images
from lockstep.d2l.mxnet.primitives import PRIMITIVES
from lockstep.d2l.timer import Accumulator


def split_batch(X: Any, y: Any, devices: Sequence[Any]) -> tuple[Any, Any]:
    """Parts of a batch, one on each device."""
    if X.shape[0] != y.shape[0]:
        raise ValueError(f"{X.shape[0]} inputs and {y.shape[0]} labels")
    return _parts(X, devices), _parts(y, devices)


def _parts(whole: Any, devices: Sequence[Any]) -> list[Any]:
    parts = gluon.utils.split_data(whole, len(devices), even_split=False)
    return [part.as_in_ctx(device) for part, device in zip(parts, devices, strict=True)]


class Residual(nn.Block):
    """Two convolutions with batch normalization around a shortcut."""

    def __init__(
        self, num_channels: int, use_1x1conv: bool = False, strides: int = 1, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.conv1 = nn.Conv2D(num_channels, kernel_size=3, padding=1, strides=strides)
        self.conv2 = nn.Conv2D(num_channels, kernel_size=3, padding=1)
        self.conv3 = (
            nn.Conv2D(num_channels, kernel_size=1, strides=strides) if use_1x1conv else None
        )
        self.bn1, self.bn2 = nn.BatchNorm(), nn.BatchNorm()

    def forward(self, X: Any) -> Any:
        Y = self.bn2(self.conv2(npx.relu(self.bn1(self.conv1(X)))))
        return npx.relu(Y + (self.conv3(X) if self.conv3 else X))


def resnet18(num_classes: int) -> Any:
    """ResNet-18 for small images: no pooling before the residual blocks."""
    net = nn.Sequential()
    net.add(nn.Conv2D(64, kernel_size=3, strides=1, padding=1), nn.BatchNorm())
    net.add(nn.Activation("relu"))
    for place, channels in enumerate((64, 128, 256, 512)):
        block = nn.Sequential()
        narrower = place > 0
        block.add(Residual(channels, use_1x1conv=narrower, strides=2 if narrower else 1))
        block.add(Residual(channels))
        net.add(block)
    net.add(nn.GlobalAvgPool2D(), nn.Dense(num_classes))
    return net


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


def train_batch_ch13(
    net: Any, features: Any, labels: Any, loss: Callable[..., Any], trainer: Any,
    devices: Sequence[Any], split_f: Callable[..., Any] = split_batch,
) -> tuple[float, float]:  # fmt: skip
    """One update; the sum of the losses and the number of hits."""
    parts, wanted = split_f(features, labels, devices)
    with autograd.record():
        said = [net(part) for part in parts]
        losses = [loss(y_hat, y) for y_hat, y in zip(said, wanted, strict=True)]
    for each in losses:
        each.backward()
    trainer.step(labels.shape[0])
    total = sum(float(each.sum()) for each in losses)
    return total, sum(accuracy(y_hat, y) for y_hat, y in zip(said, wanted, strict=True))


def train_ch13(
    net: Any, train_iter: Any, test_iter: Any, loss: Callable[..., Any], trainer: Any,
    num_epochs: int, devices: Sequence[Any] | None = None,
    split_f: Callable[..., Any] = split_batch,
) -> None:  # fmt: skip
    """Train a net on several devices, its batches divided among them."""
    places = devices or Gpus(PRIMITIVES).try_all_gpus()

    def step(X: Any, y: Any) -> tuple[float, float, int]:
        return *train_batch_ch13(net, X, y, loss, trainer, places, split_f), y.shape[0]

    evaluate = lambda: evaluate_accuracy_gpus(net, test_iter, split_f)  # noqa: E731
    train_images(step, train_iter, evaluate, num_epochs, places)
