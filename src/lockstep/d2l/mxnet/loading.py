"""The chapters' data as batches of MXNet's NumPy arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy
from mxnet import np

from lockstep.d2l import options, text
from lockstep.d2l.batches import Batches, fashion_mnist_examples, whitened
from lockstep.d2l.downloads import download
from lockstep.d2l.numbers import to_numpy

Pairs = Iterator[tuple[Any, Any]]


def _order(count: int) -> Any:
    """A permutation by MXNet's random numbers."""
    order = np.arange(count, dtype="int32")
    np.random.shuffle(order)
    return order.asnumpy()


def load_array(data_arrays: Sequence[Any], batch_size: int, is_train: bool = True) -> Batches:
    """Batches of rows, in training in a new order each pass."""
    arrays = [to_numpy(array) for array in data_arrays]
    finish = lambda *batch: tuple(np.array(part, dtype=part.dtype) for part in batch)  # noqa: E731
    return Batches(arrays, batch_size, _order if is_train else None, finish=finish)


def load_data_fashion_mnist(batch_size: int, resize: Any = None) -> tuple[Batches, Batches]:
    """Training and test batches: x (B, 1, 28, 28) from 0 to 1, y (B,)."""
    if resize is not None:
        raise NotImplementedError("resize: images keep their 28 x 28 pixels in MXNet")

    def finish(x: Any, y: Any) -> tuple[Any, Any]:
        images = x[:, None].astype(numpy.float32) / 255
        return np.array(images, dtype="float32"), np.array(y, dtype="int32")

    train, test = fashion_mnist_examples()
    now = options.current()
    return (
        Batches((train.x, train.y), batch_size, _order, finish=finish, most=now.train_batches),
        Batches((test.x, test.y), batch_size, None, finish=finish, most=now.test_batches),
    )


def get_data_ch11(batch_size: int = 10, n: int = 1500) -> tuple[Batches, int]:
    """Batches of the first n rows of the airfoil data, whitened, and the number of features."""
    data = whitened(download("airfoil"))
    return load_array((data[:n, :-1], data[:n, -1]), batch_size), data.shape[1] - 1


def synthetic_data(w: Any, b: float, num_examples: int) -> tuple[Any, Any]:
    """x standard normal (N, len(w)), and y = x w + b with noise of standard deviation 0.01."""
    x = np.random.normal(0, 1, (num_examples, len(w)))
    y = np.dot(x, w) + b
    return x, (y + np.random.normal(0, 0.01, y.shape)).reshape((-1, 1))


def _array(values: Any) -> Any:
    return np.array(values, dtype="int32")


def seq_data_iter_random(corpus: Sequence[int], batch_size: int, num_steps: int) -> Pairs:
    return text.converted(text.random_windows(corpus, batch_size, num_steps), _array)


def seq_data_iter_sequential(corpus: Sequence[int], batch_size: int, num_steps: int) -> Pairs:
    return text.converted(text.sequential_windows(corpus, batch_size, num_steps), _array)


def SeqDataLoader(
    batch_size: int, num_steps: int, use_random_iter: bool, max_tokens: int
) -> text.TextBatches:
    return text.TextBatches(batch_size, num_steps, use_random_iter, max_tokens, _array)


def load_data_time_machine(
    batch_size: int, num_steps: int, use_random_iter: bool = False, max_tokens: int = 10_000
) -> tuple[text.TextBatches, text.Vocab]:
    """Batches of The Time Machine by characters, and its vocabulary."""
    data_iter = SeqDataLoader(batch_size, num_steps, use_random_iter, max_tokens)
    return data_iter, data_iter.vocab
