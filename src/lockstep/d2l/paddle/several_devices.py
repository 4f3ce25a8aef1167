"""Training on several devices: splitting a batch, ResNet-18, and the training of chapter 13."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from paddle import nn
from paddle.nn import functional as F

from lockstep.d2l.classifying import accuracy, over
from lockstep.d2l.gpus import Gpus
from lockstep.d2l.loops import train_images
from lockstep.d2l.paddle.primitives import PRIMITIVES


def split_batch(X: Any, y: Any, devices: Sequence[Any]) -> tuple[Any, Any]:
    """Parts of a batch, one on each device."""
    if X.shape[0] != y.shape[0]:
        raise ValueError(f"{X.shape[0]} inputs and {y.shape[0]} labels")
    return _parts(X, devices), _parts(y, devices)


def _parts(whole: Any, devices: Sequence[Any]) -> list[Any]:
    size = -(-whole.shape[0] // len(devices))
    starts = range(0, whole.shape[0], size)
    return [
        whole[start : start + size].clone().to(device)
        for start, device in zip(starts, devices, strict=False)
    ]


class Residual(nn.Layer):
    """Two convolutions with batch normalization around a shortcut."""

    def __init__(
        self, input_channels: int, num_channels: int, use_1x1conv: bool = False, strides: int = 1
    ) -> None:
        super().__init__()
        self.conv1 = nn.Conv2D(input_channels, num_channels, 3, padding=1, stride=strides)
        self.conv2 = nn.Conv2D(num_channels, num_channels, 3, padding=1)
        self.conv3 = (
            nn.Conv2D(input_channels, num_channels, 1, stride=strides) if use_1x1conv else None
        )
        self.bn1, self.bn2 = nn.BatchNorm2D(num_channels), nn.BatchNorm2D(num_channels)

    def forward(self, X: Any) -> Any:
        Y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(X)))))
        return F.relu(Y + (self.conv3(X) if self.conv3 else X))


def resnet18(num_classes: int, in_channels: int = 1) -> Any:
    """ResNet-18 for small images: no pooling before the residual blocks."""
    layers: list[Any] = [nn.Conv2D(in_channels, 64, 3, padding=1), nn.BatchNorm2D(64), nn.ReLU()]
    before = 64
    for place, channels in enumerate((64, 128, 256, 512)):
        first = Residual(before, channels, use_1x1conv=place > 0, strides=2 if place else 1)
        layers.append(nn.Sequential(first, Residual(channels, channels)))
        before = channels
    layers += [nn.AdaptiveAvgPool2D((1, 1)), nn.Flatten(), nn.Linear(512, num_classes)]
    return nn.Sequential(*layers)


def evaluate_accuracy_gpus(
    net: Any, data_iter: Any, split_f: Callable[..., Any] = split_batch
) -> float:
    """The share of hits; the net divides each batch among its devices itself."""
    return over(PRIMITIVES).evaluate_accuracy(net, data_iter)


def train_batch_ch13(
    net: Any, X: Any, y: Any, loss: Callable[..., Any], trainer: Any, devices: Sequence[Any]
) -> tuple[float, float]:
    """One update; the sum of the losses and the number of hits."""
    net.train()
    trainer.clear_grad()
    y_hat = net(X)
    total = loss(y_hat, y).sum()
    total.backward()
    trainer.step()
    return float(total), accuracy(y_hat, y)


def train_ch13(
    net: Any, train_iter: Any, test_iter: Any, loss: Callable[..., Any], trainer: Any,
    num_epochs: int, devices: Sequence[Any] | None = None,
) -> None:  # fmt: skip
    """Train a net. Paddle divides batches among processes (paddle.DataParallel, which the net may
    be in), so in one process they are computed whole."""
    places = devices or Gpus(PRIMITIVES).try_all_gpus()

    def step(X: Any, y: Any) -> tuple[float, float, int]:
        return *train_batch_ch13(net, X, y, loss, trainer, places), y.shape[0]

    evaluate = lambda: evaluate_accuracy_gpus(net, test_iter)  # noqa: E731
    train_images(step, train_iter, evaluate, num_epochs, places)
