"""By data: all weights on every device, a part of the batch, one sum of all gradients. And the one
device that the others are compared with, which is the same without others."""

from __future__ import annotations

import torch

from lockstep.experiments.ways_to_split.ways.way import (
    Gradient,
    Tensor,
    apply_layer,
    as_inputs,
    nothing,
    own_weights,
    share_of_loss,
)
from lockstep.experiments.ways_to_split.ways.wire import Wire
from lockstep.frameworks.torch.ops import TorchOps
from lockstep.models.layers import Sequential
from lockstep.ops import Arrays
from lockstep.processes.splitting import shard_slices


class OneDevice:
    """The whole batch on device 0, while the others wait for it."""

    def __init__(self, ops: TorchOps, wire: Wire, model: Sequential, arrays: Arrays) -> None:
        self._ops, self._model, self._works = ops, model, wire.rank == 0
        self.weights = own_weights(ops, arrays if self._works else {})

    def gradient(self, images: Tensor, labels: Tensor) -> Gradient:
        if not self._works:
            return Gradient(nothing(self._ops), {})
        scores = as_inputs(self._ops, images)
        for layer in self._model.blocks:
            scores = apply_layer(self._ops, layer, scores, self.weights)
        loss = share_of_loss(self._ops, scores, labels, len(labels))
        found = torch.autograd.grad(loss, list(self.weights.values()))
        return Gradient(loss.detach(), dict(zip(self.weights, found, strict=True)))


class ByData:
    """A shard of the batch on every device; one flat buffer with all gradients is summed."""

    def __init__(self, ops: TorchOps, wire: Wire, model: Sequential, arrays: Arrays) -> None:
        self._ops, self._wire, self._model = ops, wire, model
        self.weights = own_weights(ops, arrays)

    def gradient(self, images: Tensor, labels: Tensor) -> Gradient:
        own = shard_slices(len(labels), self._wire.world_size)[self._wire.rank]
        loss, found = self._shard(images[own], labels[own], len(labels))
        total = self._wire.all_reduce(torch.cat([g.reshape(-1) for g in found]))
        parts = total.split([w.numel() for w in self.weights.values()])
        summed = {
            name: part.view(w.shape)
            for (name, w), part in zip(self.weights.items(), parts, strict=True)
        }
        return Gradient(loss.detach(), summed)

    def _shard(
        self, images: Tensor, labels: Tensor, batch_size: int
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        weights = list(self.weights.values())
        if not len(labels):  # more devices than examples
            return nothing(self._ops), tuple(map(torch.zeros_like, weights))
        scores = as_inputs(self._ops, images)
        for layer in self._model.blocks:
            scores = apply_layer(self._ops, layer, scores, self.weights)
        loss = share_of_loss(self._ops, scores, labels, batch_size)
        return loss, torch.autograd.grad(loss, weights)
