"""Direct formulas for what an op must return: loops and `math`, no vectorised trick.

Slow on purpose, and independent of every framework and of the oracle.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def entrywise(function: Callable[..., float], *xs: Any) -> np.ndarray:
    """A scalar function of one entry of each, over broadcast arrays."""
    arrays = np.broadcast_arrays(*xs)
    out = np.empty(arrays[0].shape)
    for at in np.ndindex(out.shape):
        out[at] = function(*(each[at].item() for each in arrays))
    return out


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def reduced(
    x: np.ndarray, function: Callable[[list[float]], float], axes: Sequence[int], keepdims: bool
) -> np.ndarray:
    """A function of the list of entries along some axes."""
    axes = [axis % x.ndim for axis in axes]
    lists: dict[tuple[int, ...], list[float]] = {}
    for at in np.ndindex(x.shape):
        key = tuple(0 if i in axes else n for i, n in enumerate(at))
        lists.setdefault(key, []).append(x[at].item())
    out = np.empty([1 if i in axes else n for i, n in enumerate(x.shape)])
    for key, entries in lists.items():
        out[key] = function(entries)
    return out if keepdims else out.reshape([n for i, n in enumerate(x.shape) if i not in axes])


def average(entries: list[float]) -> float:
    return math.fsum(entries) / len(entries)


def log_softmax(x: np.ndarray) -> np.ndarray:
    """x_i - log(sum_j exp x_j), by definition (so only for moderate x)."""
    log_sum = reduced(x, lambda row: math.log(math.fsum(map(math.exp, row))), [-1], True)
    return entrywise(lambda a, b: a - b, x, log_sum)


def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """sum_k a_ik b_kj, for b of two axes."""
    out = np.empty((*a.shape[:-1], b.shape[1]))
    for *i, j in np.ndindex(out.shape):
        out[(*i, j)] = math.fsum(a[(*i, k)] * b[k, j] for k in range(b.shape[0]))
    return out


def conv2d(x: np.ndarray, w: np.ndarray, b: np.ndarray, padding: int) -> np.ndarray:
    """out[n,o,r,s] = b[o] + sum_{c,i,j} w[o,c,i,j] x[n, c, r+i-padding, s+j-padding]."""
    _, channels, rows, columns = x.shape
    outs, _, height, width = w.shape
    shape = (len(x), outs, rows + 2 * padding - height + 1, columns + 2 * padding - width + 1)
    out = np.empty(shape)
    for n, o, r, s in np.ndindex(shape):
        total = b[o]
        for c, i, j in np.ndindex(channels, height, width):
            y, z = r + i - padding, s + j - padding
            if 0 <= y < rows and 0 <= z < columns:
                total += w[o, c, i, j] * x[n, c, y, z]
        out[n, o, r, s] = total
    return out


def pooled(x: np.ndarray, function: Callable[[list[float]], float], size: int) -> np.ndarray:
    """A function of the list of entries of each window of size x size, remainder dropped."""
    out = np.empty((*x.shape[:2], x.shape[2] // size, x.shape[3] // size))
    for n, c, r, s in np.ndindex(out.shape):
        places = itertools.product(range(size), range(size))
        out[n, c, r, s] = function([x[n, c, r * size + i, s * size + j].item() for i, j in places])
    return out


def reshaped(x: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """The entries in reading order, in another shape."""
    return np.array([x[at] for at in np.ndindex(x.shape)]).reshape(shape)


def transposed(x: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """Axis k of the result is axis axes[k] of x."""
    out = np.empty([x.shape[axis] for axis in axes])
    for at in np.ndindex(x.shape):
        out[tuple(at[axis] for axis in axes)] = x[at]
    return out


def joined(*xs: np.ndarray, axis: int) -> np.ndarray:
    """One after the other along an axis."""
    axis, start = axis % xs[0].ndim, 0
    out = np.empty(
        [sum(x.shape[i] for x in xs) if i == axis else n for i, n in enumerate(xs[0].shape)]
    )
    for x in xs:
        for at in np.ndindex(x.shape):
            out[tuple(n + start if i == axis else n for i, n in enumerate(at))] = x[at]
        start += x.shape[axis]
    return out


def stacked(*xs: np.ndarray, axis: int) -> np.ndarray:
    """Side by side along a new axis."""
    axis %= xs[0].ndim + 1
    out = np.empty((*xs[0].shape[:axis], len(xs), *xs[0].shape[axis:]))
    for at in np.ndindex(out.shape):
        out[at] = xs[at[axis]][at[:axis] + at[axis + 1 :]]
    return out


def rows_of(x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """x[i] for each index i, one after the other."""
    out = np.empty((*indices.shape, *x.shape[1:]))
    for at in np.ndindex(indices.shape):
        out[at] = x[int(indices[at])]
    return out


def one_hot(indices: np.ndarray, depth: int) -> np.ndarray:
    """1 at each index, 0 elsewhere."""
    out = np.zeros((*indices.shape, depth))
    for at in np.ndindex(indices.shape):
        out[(*at, int(indices[at]))] = 1
    return out


def picked(x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """x[..., i] for each index i, one after the other."""
    out = np.empty(indices.shape)
    for at in np.ndindex(indices.shape):
        out[at] = x[(*at, int(indices[at]))]
    return out


def recurrence(h: np.ndarray, w: np.ndarray, xs: np.ndarray) -> np.ndarray:
    """h_t = tanh(x_t + h_{t-1} w), for each t."""
    states = []
    for x in xs:
        h = entrywise(math.tanh, x + matmul(h, w))
        states.append(h)
    return np.array(states)
