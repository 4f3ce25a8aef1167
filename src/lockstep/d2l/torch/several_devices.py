"""Training on several devices: splitting a batch, ResNet-18, and the training of chapter 13."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lockstep.d2l.classifying import accuracy, over
from lockstep.d2l.gpus import Gpus
from lockstep.d2l.loops import train_images
from lockstep.d2l.torch.parallel import scatter
from lockstep.d2l.torch.primitives import PRIMITIVES


def split_batch(X: Tensor, y: Tensor, devices: Sequence[torch.device]) -> tuple[Any, Any]:
    """Parts of a batch, one on each device."""
    if X.shape[0] != y.shape[0]:
        raise ValueError(f"{X.shape[0]} inputs and {y.shape[0]} labels")
    return scatter(X, devices), scatter(y, devices)


class Residual(nn.Module):
    """Two convolutions with batch normalization around a shortcut."""

    def __init__(self, in_channels: int, out_channels: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, out_channels, 3, padding=1, stride=stride)
        self.conv2 = nn.Conv2d(out_channels, out_channels, 3, padding=1)
        self.bn1, self.bn2 = nn.BatchNorm2d(out_channels), nn.BatchNorm2d(out_channels)
        changes = stride != 1 or in_channels != out_channels
        self.shortcut = (
            nn.Conv2d(in_channels, out_channels, 1, stride=stride) if changes else nn.Identity()
        )

    def forward(self, X: Tensor) -> Tensor:
        Y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(X)))))
        return F.relu(Y + self.shortcut(X))


def resnet18(num_classes: int, in_channels: int = 1) -> nn.Sequential:
    """ResNet-18 for small images: no pooling before the residual blocks."""
    layers: list[nn.Module] = [nn.Conv2d(in_channels, 64, 3, padding=1), nn.BatchNorm2d(64)]
    layers.append(nn.ReLU())
    before = 64
    for place, channels in enumerate((64, 128, 256, 512)):
        layers += [
            nn.Sequential(
                Residual(before, channels, 1 if place == 0 else 2), Residual(channels, channels)
            )
        ]
        before = channels
    layers += [nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(), nn.Linear(512, num_classes)]
    return nn.Sequential(*layers)


def evaluate_accuracy_gpus(
    net: nn.Module, data_iter: Any, split_f: Callable[..., Any] = split_batch
) -> float:
    """The share of hits; the net divides each batch among its devices itself."""
    return over(PRIMITIVES).evaluate_accuracy_gpu(net, data_iter)


def train_batch_ch13(
    net: nn.Module, X: Any, y: Tensor, loss: Callable[..., Tensor], trainer: Any,
    devices: Sequence[torch.device],
) -> tuple[float, float]:  # fmt: skip
    """One update; the sum of the losses and the number of hits."""
    X = [x.to(devices[0]) for x in X] if isinstance(X, list) else X.to(devices[0])
    y = y.to(devices[0])
    net.train()
    trainer.zero_grad()
    y_hat = net(X)
    total = loss(y_hat, y).sum()
    total.backward()
    trainer.step()
    return float(total.detach()), accuracy(y_hat, y)


def train_ch13(
    net: nn.Module, train_iter: Any, test_iter: Any, loss: Callable[..., Tensor], trainer: Any,
    num_epochs: int, devices: Sequence[torch.device] | None = None,
) -> None:  # fmt: skip
    """Train a net on several devices, its batches divided among them."""
    places = devices or Gpus(PRIMITIVES).try_all_gpus()
    if len(places) > 1:  # PyTorch's DataParallel refuses the processor
        net = nn.DataParallel(net, device_ids=list(places))
    net.to(places[0])

    def step(X: Any, y: Tensor) -> tuple[float, float, int]:
        return *train_batch_ch13(net, X, y, loss, trainer, places), y.shape[0]

    evaluate = lambda: evaluate_accuracy_gpus(net, test_iter)  # noqa: E731
    train_images(step, train_iter, evaluate, num_epochs, places)
