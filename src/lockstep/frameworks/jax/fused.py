"""Faster equivalent implementations: convolution and pooling of small images as matrix products.

XLA's convolutions are slow on a CPU inside a loop. With every 2 x 2 block of inputs as channels of
one place, and the kernel at its four places in a pooling window as columns of one matrix, places
are a quarter as many, a product does the work, and pooling takes four blocks of columns together.

Flax's own convolution layers take `convolution` for that reason: one product does a row of places.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from lockstep.ops import Array


def fused_conv_max_pool(ops: Any, x: Array, w: Array, b: Array, padding: int) -> Array:
    """relu(max_pool2d(conv2d(x, w, b))) with windows of 2 x 2."""
    first, second, third, fourth = _windows(x, w, padding)
    best = _larger(_larger(first, second), _larger(third, fourth))
    return ops.relu(best + b).transpose(0, 3, 1, 2)


def fused_conv_avg_pool(ops: Any, x: Array, w: Array, b: Array, padding: int) -> Array:
    """avg_pool2d(relu(conv2d(x, w, b))) with windows of 2 x 2."""
    first, second, third, fourth = (ops.relu(part + b) for part in _windows(x, w, padding))
    return ((first + second + third + fourth) / 4).transpose(0, 3, 1, 2)


def _windows(x: Array, w: Array, padding: int) -> list[Array]:
    """The four outputs of every pooling window, without bias: each (B, P, Q, O)."""
    blocks, kernel = _blocks(x, w, padding), _four_places(w)
    height, width, inputs, outputs = kernel.shape
    rows, columns = blocks.shape[1] - height + 1, blocks.shape[2] - width + 1
    seen = [blocks[:, i : i + rows, j : j + columns] for i in range(height) for j in range(width)]
    patches = jnp.concatenate(seen, axis=-1).reshape(-1, height * width * inputs)
    y = patches @ kernel.reshape(-1, outputs)  # (B P Q, 4O)
    return jnp.split(y.reshape(len(x), rows, columns, outputs), 4, axis=-1)


def _larger(a: Array, b: Array) -> Array:
    return jnp.where(b > a, b, a)  # at a tie the gradient goes to the first


def _blocks(x: Array, w: Array, padding: int) -> Array:
    """x padded, cut or filled to what whole windows see, in blocks: (B, H/2, W/2, 4C)."""
    sizes = []
    for axis, k in zip((2, 3), w.shape[2:], strict=True):
        windows = (x.shape[axis] + 2 * padding - k + 1) // 2
        sizes.append(2 * (windows - 1) + (k + 2) // 2 * 2)
    x = x[:, :, : sizes[0] - padding, : sizes[1] - padding]
    after = [size - padding - n for size, n in zip(sizes, x.shape[2:], strict=True)]
    x = jnp.pad(x, ((0, 0), (0, 0), (padding, after[0]), (padding, after[1])))
    batch, channels, height, width = x.shape
    parts = x.reshape(batch, channels, height // 2, 2, width // 2, 2).transpose(0, 2, 4, 3, 5, 1)
    return parts.reshape(batch, height // 2, width // 2, 4 * channels)


def _four_places(w: Array) -> Array:
    """The kernel at the four places of a window: (I/2, J/2, 4C, 4O), I and J its size + 1, even."""
    channels, inputs, *sizes = w.shape
    spares = [(k + 2) // 2 * 2 - k for k in sizes]  # 1 or 2: what is left beside the kernel
    placed = jnp.stack(
        [
            jnp.pad(w, ((0, 0), (0, 0), (u, spares[0] - u), (v, spares[1] - v)))
            for u in (0, 1)
            for v in (0, 1)
        ]
    )  # (4, O, C, I, J)
    height, width = ((k + spare) // 2 for k, spare in zip(sizes, spares, strict=True))
    parts = placed.reshape(4 * channels, inputs, height, 2, width, 2).transpose(2, 4, 3, 5, 1, 0)
    return parts.reshape(height, width, 4 * inputs, 4 * channels)


WIDEST = 32  # columns of an image: a row's matrix is mostly zeros, the more the wider the image


def convolution(x: Array, w: Array, strides: Sequence[int], padding: Any, **settings: Any) -> Array:
    """What lax.conv_general_dilated gives for x (B, H, W, C) and w (I, J, C, O), of a flax Conv.

    A row of Q outputs is the product of I rows of inputs (I W C) and the kernel at its Q places in
    them (I W C, Q O). XLA's own is used for wide images, for other settings, and on a GPU.
    """
    if not _is_plain(x, w, strides, padding, settings):
        return lax.conv_general_dilated(x, w, strides, padding, **settings)
    height, width, inputs, outputs = w.shape
    x = jnp.pad(x, ((0, 0), *padding, (0, 0)))
    batch, rows, columns = x.shape[0], x.shape[1] - height + 1, x.shape[2]
    places = columns - width + 1
    seen = [x[:, i : i + rows].reshape(batch, rows, columns * inputs) for i in range(height)]
    placed = [
        jnp.pad(w, ((0, 0), (place, places - 1 - place), (0, 0), (0, 0))) for place in range(places)
    ]  # each (I, W, C, O)
    kernel = jnp.stack(placed, axis=3).reshape(height * columns * inputs, places * outputs)
    y = jnp.concatenate(seen, axis=-1).reshape(batch * rows, -1) @ kernel
    return y.reshape(batch, rows, places, outputs)


def _is_plain(
    x: Array, w: Array, strides: Sequence[int], padding: Any, settings: Mapping[str, Any]
) -> bool:
    """Whether it is the convolution above: pairs of paddings, and nothing dilated or grouped."""
    dilations = [settings.get(name) or (1, 1) for name in ("lhs_dilation", "rhs_dilation")]
    return (
        x.ndim == w.ndim == 4
        and jax.default_backend() == "cpu"
        and {*strides, *dilations[0], *dilations[1], settings.get("feature_group_count", 1)} == {1}
        and not isinstance(padding, str)
        and x.shape[2] + sum(padding[1]) <= WIDEST
    )


PARTS: Mapping[str, Callable[..., Any]] = {
    "conv_max_pool": fused_conv_max_pool,
    "conv_avg_pool": fused_conv_avg_pool,
    "layer_convolution": convolution,
}
