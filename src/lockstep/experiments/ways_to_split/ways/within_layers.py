"""Within the layers: a part of every layer on each device, and all of the batch.

Gradients flow through the messages: what is gathered forward is summed backward, and so on; see
`division` for which layer needs which.
"""

from __future__ import annotations

from typing import Any

import torch

from lockstep.experiments.ways_to_split.division import Divided, divide, weight_parts
from lockstep.experiments.ways_to_split.ways import way
from lockstep.experiments.ways_to_split.ways.way import Gradient, Tensor
from lockstep.experiments.ways_to_split.ways.wire import Wire
from lockstep.frameworks.torch.ops import TorchOps
from lockstep.models.layers import Dense, Sequential
from lockstep.ops import Arrays

AXIS = 1  # channels of (B, C, H, W), units of (B, U)


class WithinLayers:
    """This device's part of each layer."""

    def __init__(self, ops: TorchOps, wire: Wire, model: Sequential, arrays: Arrays) -> None:
        self._ops, self._wire = ops, wire
        self._layers = divide(model, wire.world_size)
        own = {}
        for name, part in weight_parts(model, wire.world_size).items():
            cut = (slice(None),) * part.axis + (part.slices[wire.rank],)
            if arrays[name][cut].size:
                own[name] = arrays[name][cut]
        self.weights = way.own_weights(ops, own)

    def gradient(self, images: Tensor, labels: Tensor) -> Gradient:
        h = way.as_inputs(self._ops, images)
        for divided in self._layers:
            h = self._apply(divided, h)
        loss = way.share_of_loss(self._ops, h, labels, len(labels))  # all have all scores
        found = torch.autograd.grad(loss, list(self.weights.values()))
        known = loss.detach() if self._wire.rank == 0 else self._ops.zeros(())
        return Gradient(known, dict(zip(self.weights, found, strict=True)))

    def _apply(self, divided: Divided, h: Tensor) -> Tensor:
        if divided.before == "gather":
            h = _Gather.apply(h, self._wire, divided.sizes)
        elif divided.before == "spread":
            h = _Spread.apply(h, self._wire)
        layer = divided.layer
        if divided.by == "outputs" or not isinstance(layer.layer, Dense):
            return way.apply_layer(self._ops, layer, h, self.weights)
        w, b = self.weights[f"{layer.name}_w"], self.weights.get(f"{layer.name}_b")
        part = layer.enter(self._ops, h) @ w
        part = part if b is None else part + b
        if divided.after == "scatter":
            whole = _Scatter.apply(part, self._wire, divided.sizes)
        else:
            whole = _Sum.apply(part, self._wire)
        out: Tensor = layer.leave(self._ops, whole)
        return out


class _Gather(torch.autograd.Function):
    """Parts made whole; each device's gradient of the whole is one term of a sum."""

    @staticmethod
    def forward(ctx: Any, part: Tensor, wire: Wire, sizes: tuple[int, ...]) -> Tensor:
        ctx.wire, ctx.sizes = wire, sizes
        return wire.all_gather(part, sizes, AXIS)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return ctx.wire.reduce_scatter(grad, ctx.sizes, AXIS), None, None


class _Scatter(torch.autograd.Function):
    """Terms of a sum, of which each device has a part; every term has the gradient of all parts."""

    @staticmethod
    def forward(ctx: Any, term: Tensor, wire: Wire, sizes: tuple[int, ...]) -> Tensor:
        ctx.wire, ctx.sizes = wire, sizes
        return wire.reduce_scatter(term, sizes, AXIS)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return ctx.wire.all_gather(grad, ctx.sizes, AXIS), None, None


class _Sum(torch.autograd.Function):
    """Terms of a sum that every device has; what follows is the same on all, gradients too."""

    @staticmethod
    def forward(ctx: Any, term: Tensor, wire: Wire) -> Tensor:
        return wire.all_reduce(term)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad, None


class _Spread(torch.autograd.Function):
    """What every device has, used by each for a part; the gradients of all parts are summed."""

    @staticmethod
    def forward(ctx: Any, whole: Tensor, wire: Wire) -> Tensor:
        ctx.wire = wire
        return whole.view_as(whole)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ctx.wire.all_reduce(grad), None
