"""The chapters' data as batches of tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lockstep.d2l import options, text
from lockstep.d2l.batches import Batches, fashion_mnist_examples, whitened
from lockstep.d2l.downloads import download
from lockstep.data import Examples

Pairs = Iterator[tuple[Tensor, Tensor]]


def load_array(data_arrays: Sequence[Tensor], batch_size: int, is_train: bool = True) -> Batches:
    """Batches of rows; in training in a new order each pass, by torch's own random numbers."""
    return Batches(data_arrays, batch_size, torch.randperm if is_train else None)


def load_data_fashion_mnist(
    batch_size: int, resize: int | tuple[int, int] | None = None
) -> tuple[Batches, Batches]:
    """Training and test batches: x (B, 1, 28, 28) from 0 to 1, or of another size; y (B,)."""
    train, test = fashion_mnist_examples()
    now = options.current()
    return (
        _images(train, batch_size, resize, True, now.train_batches),
        _images(test, batch_size, resize, False, now.test_batches),
    )


def _images(examples: Examples, batch_size: int, resize: Any, is_train: bool, most: int) -> Batches:
    arrays = torch.from_numpy(examples.x), torch.from_numpy(examples.y.astype(np.int64))

    def finish(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        x = x[:, None].float() / 255
        if resize is not None:
            size = (resize, resize) if isinstance(resize, int) else tuple(resize)
            x = torch.nn.functional.interpolate(x, size, mode="bilinear", antialias=True)
        return x, y

    order = torch.randperm if is_train else None
    return Batches(arrays, batch_size, order, finish=finish, most=most)


def get_data_ch11(batch_size: int = 10, n: int = 1500) -> tuple[Batches, int]:
    """Batches of the first n rows of the airfoil data, whitened, and the number of features."""
    data = torch.from_numpy(whitened(download("airfoil")))
    return load_array((data[:n, :-1], data[:n, -1]), batch_size), data.shape[1] - 1


def synthetic_data(w: Tensor, b: float, num_examples: int) -> tuple[Tensor, Tensor]:
    """x standard normal (N, len(w)), and y = x w + b with noise of standard deviation 0.01."""
    x = torch.normal(0, 1, (num_examples, len(w)))
    y = x @ w + b + torch.normal(0, 0.01, (num_examples,))
    return x, y.reshape(-1, 1)


def seq_data_iter_random(corpus: Sequence[int], batch_size: int, num_steps: int) -> Pairs:
    return text.converted(text.random_windows(corpus, batch_size, num_steps), torch.as_tensor)


def seq_data_iter_sequential(corpus: Sequence[int], batch_size: int, num_steps: int) -> Pairs:
    return text.converted(text.sequential_windows(corpus, batch_size, num_steps), torch.as_tensor)


def SeqDataLoader(
    batch_size: int, num_steps: int, use_random_iter: bool, max_tokens: int
) -> text.TextBatches:
    return text.TextBatches(batch_size, num_steps, use_random_iter, max_tokens, torch.as_tensor)


def load_data_time_machine(
    batch_size: int, num_steps: int, use_random_iter: bool = False, max_tokens: int = 10_000
) -> tuple[text.TextBatches, text.Vocab]:
    """Batches of The Time Machine by characters, and its vocabulary."""
    data_iter = SeqDataLoader(batch_size, num_steps, use_random_iter, max_tokens)
    return data_iter, data_iter.vocab
