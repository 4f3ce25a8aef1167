"""Ten shapes drawn by formula on 28x28 grey images, at random places, sizes and angles.

Each shape is a signed distance in its own turned frame (negative inside); ink is the distance
clipped to one pixel of soft edge. All random numbers come from the generator given.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
# (u, v, size, stroke) -> distance; u, v (n, 28, 28), size and stroke (n, 1, 1), in pixels
Shape = Callable[[Floats, Floats, Floats, Floats], Floats]

SIDE = 28


def _length(u: Floats, v: Floats) -> Floats:
    return np.sqrt(u * u + v * v)  # exact rounding everywhere, which hypot does not promise


def _turn(angle: Floats) -> tuple[Floats, Floats]:
    # in float64, so that the float32 result does not depend on the processor's sine
    wide = angle.astype(np.float64)
    return np.cos(wide).astype(np.float32), np.sin(wide).astype(np.float32)


def _box(u: Floats, v: Floats, half_width: Floats, half_height: Floats) -> Floats:
    return np.maximum(np.abs(u) - half_width, np.abs(v) - half_height)


def _plus(u: Floats, v: Floats, size: Floats, stroke: Floats) -> Floats:
    return np.minimum(_box(u, v, size, stroke), _box(u, v, stroke, size))


def _bars(u: Floats, v: Floats, size: Floats, stroke: Floats) -> Floats:
    bar = np.minimum(np.abs(v), np.abs(np.abs(v) - size * 0.85)) - stroke * 0.8
    return np.maximum(bar, np.abs(u) - size)


SHAPES: dict[str, Shape] = {
    "disc": lambda u, v, size, stroke: _length(u, v) - size,
    "square": lambda u, v, size, stroke: _box(u, v, size * 0.88, size * 0.88),
    # v grows downwards: apex at v = -size, base at v = size / 2
    "triangle": lambda u, v, size, stroke: np.maximum(
        0.866 * np.abs(u) - 0.5 * v - 0.5 * size, v - 0.5 * size
    ),
    "cross": lambda u, v, size, stroke: _plus((u + v) * 0.7071, (u - v) * 0.7071, size, stroke),
    "plus": _plus,
    "ring": lambda u, v, size, stroke: np.abs(_length(u, v) - (size - stroke)) - stroke,
    "horizontal bars": _bars,
    "vertical bars": lambda u, v, size, stroke: _bars(v, u, size, stroke),
    "diagonal": lambda u, v, size, stroke: _box(
        (u + v) * 0.7071, (u - v) * 0.7071, size * 1.1, stroke
    ),
    "dots": lambda u, v, size, stroke: (
        _length(np.abs(u) - size * 0.65, np.abs(v) - size * 0.65) - stroke
    ),
}


def draw_shapes(labels: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.uint8]:
    """One image per label, (N, 28, 28) uint8: grey background, a shape, a distractor, noise.

    >>> from lockstep.data.random import generator
    >>> image = draw_shapes(np.array([0], np.int32), generator(0, "doctest"))[0]
    >>> image.shape, bool(image.max() > 120)
    ((28, 28), True)
    """
    count = len(labels)
    images = np.empty((count, SIDE, SIDE), np.uint8)
    # per image: centre (2), size, stroke, angle, ink, background, and a line of clutter (3)
    traits = rng.random((count, 10), dtype=np.float32)
    for label, shape in enumerate(SHAPES.values()):
        members = np.flatnonzero(labels == label)
        noise = rng.standard_normal((len(members), SIDE, SIDE), dtype=np.float32)
        images[members] = _draw(shape, traits[members], noise)
    return images


def _draw(shape: Shape, traits: Floats, noise: Floats) -> NDArray[np.uint8]:
    trait = traits.T[:, :, None, None]  # (10, n, 1, 1), each in [0, 1)
    axis = np.arange(SIDE, dtype=np.float32) - (SIDE - 1) / 2
    x = axis[None, None, :] - (trait[0] - 0.5) * 9
    y = axis[None, :, None] - (trait[1] - 0.5) * 9
    size = 5.5 + 4 * trait[2]
    stroke = 1 + trait[3]
    cosine, sine = _turn((trait[4] - 0.5) * 0.5)
    u, v = x * cosine + y * sine, y * cosine - x * sine
    ink = np.clip(0.5 - shape(u, v, size, stroke), 0, 1)
    ink = np.maximum(ink, 0.7 * _clutter(axis, trait[7:]))
    grey = 30 * trait[6]
    values = grey + (90 + 100 * trait[5]) * ink + 22 * noise
    return np.clip(values, 0, 255).astype(np.uint8)


def _clutter(axis: Floats, trait: Floats) -> Floats:
    """A thin line across the image, which no single pixel can distinguish from a shape."""
    cosine, sine = _turn(trait[0] * np.float32(np.pi))
    away = axis[None, None, :] * cosine + axis[None, :, None] * sine
    return np.clip(1 - np.abs(away - (trait[1] - 0.5) * 24) - 0.4 * trait[2], 0, 1)
