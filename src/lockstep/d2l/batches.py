"""Batches of examples, in a new order each pass; and what becomes of the chapters' data first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lockstep.d2l import options

# changes the NumPy arrays of a batch, one for each array that is passed over
Finish = Callable[..., tuple[Any, ...]]

LABELS = (
    "t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag",
    "ankle boot",
)  # fmt: skip


class Batches:
    """Passes over arrays of equal length, `batch_size` rows at a time; the last may be smaller.

    `order(n)` gives the rows of a pass, None as they lie. `finish` is applied to the arrays of each
    batch. In a quick run a pass has at most `most` batches.

    >>> [batch[0].tolist() for batch in Batches([np.arange(3)], 2, None)]
    [[0, 1], [2]]
    """

    def __init__(
        self,
        arrays: Sequence[Any],
        batch_size: int,
        order: Callable[[int], Any] | None,
        finish: Finish = lambda *arrays: arrays,
        most: int | None = None,
    ) -> None:
        self.arrays, self.batch_size, self._order = arrays, batch_size, order
        self._finish = finish
        self._count = -(-len(arrays[0]) // batch_size)
        if most is not None:
            self._count = options.shortened("batches of a pass", self._count, most)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        size = self.batch_size
        rows = (self._order or np.arange)(len(self.arrays[0]))[: self._count * size]
        # all at once: for small batches, picking rows would take longer than the training. They are
        # copies, which a cell may change.
        arrays = [array[rows] for array in self.arrays]
        for first in range(0, self._count * size, size):
            yield self._finish(*(array[first : first + size] for array in arrays))


def resized(images: NDArray[Any], size: int | tuple[int, int]) -> NDArray[np.float32]:
    """Images (N, height, width) of another size. Each new pixel is a mean of those around its
    place, with weights that fall linearly to 0 at the distance of the larger pixel.

    >>> resized(np.array([[[0, 4], [8, 12]]], np.float32), 1).tolist()
    [[[6.0]]]
    """
    height, width = (size, size) if isinstance(size, int) else size
    rows, columns = _weights(images.shape[1], height), _weights(images.shape[2], width)
    made: NDArray[np.float32] = rows @ images @ columns.T
    return made


def _weights(old: int, new: int) -> NDArray[np.float32]:
    """The share of each old pixel in each new one, (new, old)."""
    scale = old / new
    distance = (np.arange(new)[:, None] + 0.5) * scale - (np.arange(old) + 0.5)
    weights = np.maximum(0.0, 1 - np.abs(distance) / max(scale, 1.0))
    found: NDArray[np.float32] = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
    return found


def get_fashion_mnist_labels(labels: Iterable[Any]) -> list[str]:
    """The names of classes.

    >>> get_fashion_mnist_labels([0, 9])
    ['t-shirt', 'ankle boot']
    """
    return [LABELS[int(label)] for label in labels]


def get_dataloader_workers() -> int:
    """0: batches are made where they are used, which is faster than by other processes."""
    return 0


def whitened(path: str) -> NDArray[np.float32]:
    """The airfoil table with each column of mean 0 and variance 1, (1503, 6)."""
    data = np.genfromtxt(path, dtype=np.float32, delimiter="\t")
    white: NDArray[np.float32] = (data - data.mean(axis=0)) / data.std(axis=0)
    return white
