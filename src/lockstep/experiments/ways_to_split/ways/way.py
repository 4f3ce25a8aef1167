"""What the ways have in common: a device's own weights, a gradient. And the two simplest
ways: one device, which all are compared with, and by data, where every device has all weights."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch

from lockstep.experiments.ways_to_split.ways.wire import Wire
from lockstep.frameworks.torch.ops import TorchOps
from lockstep.models.layers import Block, Sequential
from lockstep.models.losses import cross_entropy
from lockstep.ops import Arrays
from lockstep.processes.splitting import shard_slices

Tensor = torch.Tensor
Tensors = dict[str, Tensor]


class Gradient(NamedTuple):
    """Of the mean loss over the whole batch, by this device's own weights; and the part of that
    loss which this device knows, 0 if it has seen no scores: over devices they add up to it."""

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


def whole_gradient(
    ops: TorchOps,
    model: Sequential,
    weights: Tensors,
    batch: tuple[Tensor, Tensor],
    batch_size: int,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Through all layers on one device: these examples' share of the loss, and its gradients."""
    images, labels = batch
    scores = as_inputs(ops, images)
    for layer in model.blocks:
        scores = apply_layer(ops, layer, scores, weights)
    loss = share_of_loss(ops, scores, labels, batch_size)
    return loss.detach(), torch.autograd.grad(loss, list(weights.values()))


class OneDevice:
    """The whole batch on device 0, while the others wait for it."""

    def __init__(self, ops: TorchOps, wire: Wire, model: Sequential, arrays: Arrays) -> None:
        self._ops, self._model, self._works = ops, model, wire.rank == 0
        self.weights = own_weights(ops, arrays if self._works else {})

    def gradient(self, images: Tensor, labels: Tensor) -> Gradient:
        if not self._works:
            return Gradient(self._ops.zeros(()), {})
        batch = images, labels
        loss, found = whole_gradient(self._ops, self._model, self.weights, batch, len(labels))
        return Gradient(loss, dict(zip(self.weights, found, strict=True)))


class ByData:
    """A shard of the batch on every device; one flat buffer with all gradients is summed."""

    def __init__(self, ops: TorchOps, wire: Wire, model: Sequential, arrays: Arrays) -> None:
        self._ops, self._wire, self._model = ops, wire, model
        self.weights = own_weights(ops, arrays)

    def gradient(self, images: Tensor, labels: Tensor) -> Gradient:
        own = shard_slices(len(labels), self._wire.world_size)[self._wire.rank]
        weights, batch = self.weights, (images[own], labels[own])
        if len(batch[1]):
            loss, found = whole_gradient(self._ops, self._model, weights, batch, len(labels))
        else:  # more devices than examples
            loss, found = self._ops.zeros(()), tuple(map(torch.zeros_like, weights.values()))
        total = self._wire.all_reduce(torch.cat([g.reshape(-1) for g in found]))
        parts = total.split([w.numel() for w in weights.values()])
        pairs = zip(weights.items(), parts, strict=True)
        return Gradient(loss, {name: part.view(w.shape) for (name, w), part in pairs})
