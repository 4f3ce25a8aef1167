"""The layers that models are described by, and the models made of a sequence of them.

From the description follow the arrays and their initial values, what is computed over Ops, and in
every framework the native layers (its concise.py) and their arrays (its layout.py).

Shapes are those of one example, without the batch: images (C, H, W), vectors (n,).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

from lockstep.checks import store
from lockstep.errors import InputError
from lockstep.models.model import Draw, draw_weights, xavier

if TYPE_CHECKING:
    from lockstep.ops import Array, Arrays, Ops, Weights

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Flatten:
    """(B, ...) -> (B, n), channels before rows before columns."""

    def output_shape(self, shape: Shape) -> Shape:
        return (prod(shape),)

    def apply(self, ops: Ops, x: Array) -> Array:
        return x if len(x.shape) == 2 else ops.reshape(x, (x.shape[0], prod(x.shape[1:])))


@dataclass(frozen=True)
class ReLU:
    """max(x, 0)."""

    def output_shape(self, shape: Shape) -> Shape:
        return shape

    def apply(self, ops: Ops, x: Array) -> Array:
        return ops.relu(x)


@dataclass(frozen=True)
class _Pool:
    size: int = 2

    def output_shape(self, shape: Shape) -> Shape:
        channels, height, width = shape
        return channels, height // self.size, width // self.size


@dataclass(frozen=True)
class MaxPool(_Pool):
    """The largest of every window of size x size: (B, C, H, W) -> (B, C, H / size, W / size)."""

    def apply(self, ops: Ops, x: Array) -> Array:
        return ops.max_pool2d(x, self.size)


@dataclass(frozen=True)
class AvgPool(_Pool):
    """The mean of every window of size x size: (B, C, H, W) -> (B, C, H / size, W / size)."""

    def apply(self, ops: Ops, x: Array) -> Array:
        return ops.avg_pool2d(x, self.size)


@dataclass(frozen=True)
class _Weighted:
    """`weight` and `bias` are the arrays' names: `name`_w and `name`_b unless given."""

    name: str
    inputs: int
    outputs: int
    weight: str = field(default="", kw_only=True)
    bias: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        store(self, "weight", self.weight or f"{self.name}_w")
        store(self, "bias", self.bias or f"{self.name}_b")

    def _require(self, fits: bool, shape: Shape) -> None:
        if not fits:
            problem = f"takes so many inputs, but is given {shape}"
            raise InputError(f"model, layer {self.name}", self.inputs, problem, "Make them equal.")


@dataclass(frozen=True)
class Dense(_Weighted):
    """x w + b: (B, inputs) -> (B, outputs), with w (inputs, outputs) and b (outputs,)."""

    @property
    def shapes(self) -> dict[str, Shape]:
        return {self.weight: (self.inputs, self.outputs), self.bias: (self.outputs,)}

    def output_shape(self, shape: Shape) -> Shape:
        self._require(shape == (self.inputs,), shape)
        return (self.outputs,)

    def apply(self, ops: Ops, x: Array, w: Array, b: Array) -> Array:
        return x @ w + b


@dataclass(frozen=True)
class Convolution(_Weighted):
    """(B, inputs, H, W) -> (B, outputs, H', W') with H' = H + 2 padding - kernel + 1, and w
    (outputs, inputs, kernel, kernel). Output channels are independent of each other: some of the
    kernels give some of the result."""

    kernel: int
    padding: int = 0

    @property
    def shapes(self) -> dict[str, Shape]:
        kernels = (self.outputs, self.inputs, self.kernel, self.kernel)
        return {self.weight: kernels, self.bias: (self.outputs,)}

    def output_shape(self, shape: Shape) -> Shape:
        self._require(len(shape) == 3 and shape[0] == self.inputs, shape)
        return self.outputs, *(size + 2 * self.padding - self.kernel + 1 for size in shape[1:])

    def apply(self, ops: Ops, x: Array, w: Array, b: Array) -> Array:
        return ops.conv2d(x, w, b, self.padding)


Weightless = Flatten | ReLU | MaxPool | AvgPool
Weighted = Dense | Convolution
Layer = Weightless | Weighted


def conv_max_pool(ops: Ops, x: Array, w: Array, b: Array, padding: int) -> Array:
    """Convolution, ReLU and max-pooling by 2.

    ReLU is increasing, so it commutes with max: after pooling it touches a quarter.
    """
    return ops.relu(ops.max_pool2d(ops.conv2d(x, w, b, padding), 2))


def conv_avg_pool(ops: Ops, x: Array, w: Array, b: Array, padding: int) -> Array:
    """Convolution, ReLU and average-pooling by 2."""
    return ops.avg_pool2d(ops.relu(ops.conv2d(x, w, b, padding)), 2)


# after a convolution; an adapter may have a faster equivalent implementation of that name
_POOLED: dict[tuple[Layer, ...], tuple[str, Callable[..., Any]]] = {
    (ReLU(), MaxPool(2)): ("conv_max_pool", conv_max_pool),
    (ReLU(), AvgPool(2)): ("conv_avg_pool", conv_avg_pool),
}


@dataclass(frozen=True)
class Block:
    """A layer with weights, the layers before it that no earlier block has, and those after it up
    to the next block."""

    before: tuple[Weightless, ...]
    layer: Weighted
    after: tuple[Weightless, ...]

    @property
    def name(self) -> str:
        return self.layer.name

    @cached_property
    def pooled(self) -> tuple[str, Callable[..., Array]] | None:
        """Of a convolution with ReLU and pooling: its name in `Ops.fused`, and what it computes."""
        return _POOLED.get(self.after) if isinstance(self.layer, Convolution) else None

    def __call__(self, ops: Ops, x: Array, w: Array, b: Array) -> Array:
        x = self.enter(ops, x)
        if self.pooled and isinstance(self.layer, Convolution):
            name, plain = self.pooled
            return ops.fused.get(name, plain)(ops, x, w, b, self.layer.padding)
        return self.leave(ops, self.layer.apply(ops, x, w, b))

    def enter(self, ops: Ops, x: Array) -> Array:
        """What the layer with weights is given."""
        for layer in self.before:
            x = layer.apply(ops, x)
        return x

    def leave(self, ops: Ops, x: Array) -> Array:
        """What the block makes of that layer's outputs."""
        for layer in self.after:
            x = layer.apply(ops, x)
        return x


@dataclass(frozen=True)
class Sequential:
    """Layers one after the other, for examples of `input_shape`, with weights by `draw`.

    Examples of another shape with as many numbers are reshaped: (28, 28) to (1, 28, 28).

    >>> model = Sequential((Flatten(), Dense("fc1", 6, 4), ReLU(), Dense("fc2", 4, 1)), (2, 3))
    >>> model.shapes
    {'fc1_w': (6, 4), 'fc1_b': (4,), 'fc2_w': (4, 1), 'fc2_b': (1,)}
    >>> Sequential((Dense("fc1", 5, 1),), input_shape=(4,))
    Traceback (most recent call last):
    ...
    lockstep.errors.InputError: model, layer fc1 = 5: takes so many inputs, but is given (4,). \
Make them equal.
    """

    layers: tuple[Layer, ...]
    input_shape: Shape
    draw: Draw = xavier

    def __post_init__(self) -> None:
        self.output_shapes  # noqa: B018 - refuses layers that do not fit each other

    @cached_property
    def output_shapes(self) -> tuple[Shape, ...]:
        """Of each layer."""
        found, shape = [], self.input_shape
        for layer in self.layers:
            shape = layer.output_shape(shape)
            found.append(shape)
        return tuple(found)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The layers with weights, each with those around it that have none."""
        groups: list[tuple[list[Weightless], Weighted, list[Weightless]]] = []
        waiting: list[Weightless] = []
        for layer in self.layers:
            if isinstance(layer, Weighted):
                groups.append((waiting, layer, []))
                waiting = []
            elif groups and not waiting and not isinstance(layer, Flatten):
                groups[-1][2].append(layer)
            else:
                waiting.append(layer)
        groups[-1][2].extend(waiting)
        return tuple(Block(tuple(before), own, tuple(after)) for before, own, after in groups)

    @property
    def shapes(self) -> dict[str, Shape]:
        """Of the weights, by name."""
        return {name: shape for b in self.blocks for name, shape in b.layer.shapes.items()}

    @property
    def fused_parts(self) -> tuple[str, ...]:
        return tuple({block.pooled[0]: None for block in self.blocks if block.pooled})

    def initial_weights(self, seed: int) -> Arrays:
        return draw_weights(self.shapes, self.draw, seed)

    def carry_shapes(self, batch_size: int) -> dict[str, Shape]:
        return {}

    def apply(self, ops: Ops, w: Weights, x: Array, carry: Weights) -> tuple[Array, Weights]:
        if len(x.shape) != 1 + len(self.input_shape):
            x = ops.reshape(x, (x.shape[0], *self.input_shape))
        for block in self.blocks:
            x = block(ops, x, w[block.layer.weight], w[block.layer.bias])
        return x, carry
