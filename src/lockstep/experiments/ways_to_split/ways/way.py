"""What the ways have in common: a device's own weights, a gradient, an update."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import torch

from lockstep.frameworks.torch.ops import TorchOps
from lockstep.models.layers import Block
from lockstep.models.losses import cross_entropy
from lockstep.ops import Arrays

Tensor = torch.Tensor
Tensors = dict[str, Tensor]


class Gradient(NamedTuple):
    """Of the mean loss over the whole batch, by this device's own weights; and the part of that
    loss which this device knows: over devices they add up to it."""

    loss: Tensor
    by_weight: Tensors


class Way(Protocol):
    """One device's part of a way to split. `weights` are its own alone."""

    weights: Tensors

    def gradient(self, images: Tensor, labels: Tensor) -> Gradient:
        """images (B, 28, 28) bytes and labels (B,) of the whole batch, of which it takes its own;
        all devices call it together."""


def own_weights(ops: TorchOps, arrays: Arrays) -> Tensors:
    """Tensors of its own memory, which gradients are taken by."""
    return {name: ops.asarray(array).requires_grad_() for name, array in arrays.items()}


def update(weights: Tensors, gradient: Mapping[str, Tensor], lr: float) -> None:
    """w - lr g, in place."""
    with torch.no_grad():
        for name, value in gradient.items():
            weights[name].sub_(value, alpha=lr)


def as_inputs(ops: TorchOps, images: Tensor) -> Tensor:
    """Bytes to [0, 1], one channel: (B, 1, 28, 28)."""
    return ops.floating(images).unsqueeze(1) / 255


def apply_layer(ops: TorchOps, layer: Block, x: Tensor, weights: Tensors) -> Tensor:
    out: Tensor = layer(ops, x, weights[f"{layer.name}_w"], weights[f"{layer.name}_b"])
    return out


def share_of_loss(ops: TorchOps, scores: Tensor, labels: Tensor, batch_size: int) -> Tensor:
    """sum of losses / B: what these examples add to the mean over the batch. It is the mean over
    them weighted with n_i / n, so that uneven shards and micro-batches are exact."""
    total: Tensor = ops.sum(cross_entropy(ops, scores, labels)) / batch_size
    return total


def nothing(ops: TorchOps) -> Tensor:
    """The loss that a device knows that has seen no scores."""
    return ops.zeros(())
