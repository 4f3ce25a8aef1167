"""By layers: each device is a stage of a pipeline. Micro-batches follow each other forward through
all stages, then backward, in order; gradients are summed over them, and nothing is updated between.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import torch

from lockstep.experiments.ways_to_split.holdings import stages
from lockstep.experiments.ways_to_split.ways import way
from lockstep.experiments.ways_to_split.ways.way import Gradient, Tensor, Tensors
from lockstep.experiments.ways_to_split.ways.wire import Message, Wire
from lockstep.frameworks.torch.ops import TorchOps
from lockstep.models.layers import Sequential
from lockstep.ops import Arrays
from lockstep.processes.splitting import shard_slices


class Passed(NamedTuple):
    """A micro-batch that went forward: what came into the stage, and what left it."""

    inputs: Tensor
    outputs: Tensor


class ByLayers:
    """This device's layers."""

    def __init__(
        self, ops: TorchOps, wire: Wire, model: Sequential, arrays: Arrays, micro_batches: int
    ) -> None:
        self._ops, self._wire, self._micro_batches = ops, wire, micro_batches
        every = stages(model, wire.world_size)
        self._layers = [shape.layer for shape in every[wire.rank]]
        self._first, self._last = wire.rank == 0, wire.rank == wire.world_size - 1
        self._input_shape = () if self._first else every[wire.rank - 1][-1].outputs
        self._output_shape = every[wire.rank][-1].outputs
        names = [f"{layer.name}_{part}" for layer in self._layers for part in ("w", "b")]
        self.weights = way.own_weights(ops, {name: arrays[name] for name in names})
        self.work: list[tuple[str, int, float, float]] = []  # pass, micro-batch, begin, end

    def gradient(self, images: Tensor, labels: Tensor) -> Gradient:
        self.work.clear()
        cuts = shard_slices(len(labels), self._micro_batches)
        # asked for before anything is computed: a message flows only once both sides want it
        arriving = self._receive(cuts, self._input_shape, -1) if not self._first else []
        returning = self._receive(cuts, self._output_shape, +1) if not self._last else []
        leaving: list[Message] = []
        passed = []
        for i, cut in enumerate(cuts):
            x = images[cut] if self._first else self._wire.wait(arriving[i]).requires_grad_()
            passed.append(self._forward(i, x, labels[cut], len(labels)))
            if not self._last:
                leaving.append(self._wire.send(passed[i].outputs.detach(), self._wire.rank + 1))
        total: Tensors = {}
        for i, one in enumerate(passed):
            grad = None if self._last else self._wire.wait(returning[i])
            back = self._backward(i, one, grad, total)
            if back is not None:
                leaving.append(self._wire.send(back, self._wire.rank - 1))
        for message in leaving:
            self._wire.wait(message)
        losses = [one.outputs.detach() for one in passed] if self._last else []
        return Gradient(sum(losses, start=self._ops.zeros(())), total)

    def _receive(
        self, cuts: tuple[slice, ...], shape: tuple[int, ...], towards: int
    ) -> list[Message]:
        like, source = next(iter(self.weights.values())), self._wire.rank + towards
        return [self._wire.receive((cut.stop - cut.start, *shape), like, source) for cut in cuts]

    def _forward(self, index: int, x: Tensor, labels: Tensor, batch_size: int) -> Passed:
        begin = time.perf_counter()
        h = way.as_inputs(self._ops, x) if self._first else x
        for layer in self._layers:
            h = way.apply_layer(self._ops, layer, h, self.weights)
        if self._last:
            h = way.share_of_loss(self._ops, h, labels, batch_size)
        self.work.append(("forward", index, begin, time.perf_counter()))
        return Passed(x, h)

    def _backward(
        self, index: int, passed: Passed, grad: Tensor | None, total: Tensors
    ) -> Tensor | None:
        """Add to the total, and return the gradient of the inputs for the stage before."""
        begin = time.perf_counter()
        wanted = [*self.weights.values(), *([] if self._first else [passed.inputs])]
        found = torch.autograd.grad(passed.outputs, wanted, grad)
        for name, value in zip(self.weights, found, strict=False):
            total[name] = total[name] + value if name in total else value
        self.work.append(("backward", index, begin, time.perf_counter()))
        return None if self._first else found[-1]
