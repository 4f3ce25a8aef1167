"""Convolution and pooling over windows of images, forward and backward, on plain arrays.

Nothing here knows about variables: `ops.py` puts these functions into gradient rules.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

Shape = tuple[int, ...]


def columns(x: np.ndarray, height: int, width: int, padding: int) -> np.ndarray:
    """Every window of x (B, C, H, W) as a column: (C, height, width, B, H', W'), contiguous.

    With the batch inside, a convolution and both of its gradients are one matrix product each.

    >>> columns(np.arange(6.0).reshape(1, 1, 2, 3), 1, 2, 0).reshape(2, 4)
    array([[0., 1., 3., 4.],
           [1., 2., 4., 5.]])
    """
    if padding:
        x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = sliding_window_view(x, (height, width), axis=(2, 3))  # (B, C, H', W', h, w)
    return np.ascontiguousarray(windows.transpose(1, 4, 5, 0, 2, 3))


def uncolumns(cols: np.ndarray, shape: Shape, padding: int) -> np.ndarray:
    """The transpose of `columns`: each column added back to its window of an image of `shape`."""
    batch, channels, rows, width = shape
    out_rows, out_width = cols.shape[4:]
    image = np.zeros((channels, batch, rows + 2 * padding, width + 2 * padding), cols.dtype)
    for i in range(cols.shape[1]):
        for j in range(cols.shape[2]):
            image[:, :, i : i + out_rows, j : j + out_width] += cols[:, i, j]
    inner = image[:, :, padding : padding + rows, padding : padding + width]
    return inner.transpose(1, 0, 2, 3)


def convolve(cols: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    """w (O, C, h, w) times columns, plus b (O,): (B, O, H', W')."""
    flat = w.reshape(len(w), -1) @ cols.reshape(w[0].size, -1)  # (O, B H' W')
    out = (flat + b[:, None]).reshape(len(w), *cols.shape[3:])
    return out.transpose(1, 0, 2, 3)  # a view: the next layer copies windows anyway


def outputs_first(g: np.ndarray) -> np.ndarray:
    """(B, O, H', W') -> (O, B H' W')."""
    return g.transpose(1, 0, 2, 3).reshape(g.shape[1], -1)


def corners(x: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """For each place in a pooling window, in reading order: that place of all windows, a view.

    Windows do not overlap; rows and columns that fill no window are left out.
    """
    rows, width = (n // size * size for n in x.shape[2:])
    for i in range(size):
        for j in range(size):
            yield x[:, :, i:rows:size, j:width:size]


def max_pool(x: np.ndarray, size: int) -> np.ndarray:
    """The largest of each window."""
    first, *others = corners(x, size)
    out = first.copy()
    for corner in others:
        np.maximum(out, corner, out=out)
    return out


def max_pool_back(g: np.ndarray, x: np.ndarray, out: np.ndarray, size: int) -> np.ndarray:
    """g to the first largest of each window, 0 elsewhere."""
    grad = np.zeros_like(x)
    free = np.ones(out.shape, bool)
    for place, corner in zip(corners(grad, size), corners(x, size), strict=True):
        hit = (corner == out) & free
        np.multiply(g, hit, out=place)
        free &= ~hit
    return grad


def avg_pool(x: np.ndarray, size: int) -> np.ndarray:
    """The mean of each window."""
    first, *others = corners(x, size)
    out = first.copy()
    for corner in others:
        out += corner
    out /= size * size
    return out


def avg_pool_back(g: np.ndarray, shape: Shape, size: int) -> np.ndarray:
    """g / size^2 to each entry of each window, 0 to the remainder."""
    grad = np.zeros(shape, g.dtype)
    share = g / (size * size)
    for place in corners(grad, size):
        place[...] = share
    return grad
