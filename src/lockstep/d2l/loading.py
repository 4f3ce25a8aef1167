"""The chapters' data as batches of a framework's arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lockstep.d2l import options, text
from lockstep.d2l.batches import resized, whitened
from lockstep.d2l.downloads import download
from lockstep.d2l.numbers import to_numpy
from lockstep.d2l.primitives import Primitives
from lockstep.data import fashion_mnist

Pairs = Iterator[tuple[Any, Any]]


class Loading:
    """The d2l names that load data, in one framework."""

    def __init__(self, own: Primitives) -> None:
        self._own = own

    def load_array(self, data_arrays: Sequence[Any], batch_size: int, is_train: bool = True) -> Any:
        """Batches of rows, in training in a new order each pass."""
        return self._own.make_batches([to_numpy(a) for a in data_arrays], batch_size, is_train)

    def load_data_fashion_mnist(
        self, batch_size: int, resize: int | tuple[int, int] | None = None
    ) -> tuple[Any, Any]:
        """Training and test batches: images (B, 1, 28, 28) from 0 to 1, or of another size, and
        labels (B,). In TensorFlow and JAX images are (B, 28, 28, 1)."""
        own, now = self._own, options.current()

        def finish(x: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
            images: NDArray[Any] = x.astype(np.float32) / 255
            if resize is not None:
                images = resized(images, resize)
            return np.expand_dims(images, -1 if own.channels_last else 1), y.astype(own.integer)

        train, test = fashion_mnist.load()
        return (
            own.make_batches((train.x, train.y), batch_size, True, finish, now.train_batches),
            own.make_batches((test.x, test.y), batch_size, False, finish, now.test_batches),
        )

    def get_data_ch11(self, batch_size: int = 10, n: int = 1500) -> tuple[Any, int]:
        """Batches of the first n rows of the airfoil data, whitened, and the number of features."""
        data = whitened(download("airfoil"))
        return self.load_array((data[:n, :-1], data[:n, -1]), batch_size), data.shape[1] - 1

    def synthetic_data(self, w: Any, b: float, num_examples: int) -> tuple[Any, Any]:
        """x standard normal (N, len(w)), and y = x w + b with noise of standard deviation 0.01."""
        weights = to_numpy(w).reshape(-1, 1)
        x = self._own.normal((num_examples, len(weights)))
        noise = to_numpy(self._own.normal((num_examples, 1))) * np.float32(0.01)
        return x, self._own.array(to_numpy(x) @ weights + np.float32(b) + noise)

    def _tokens(self, values: NDArray[Any]) -> Any:
        return self._own.array(values.astype(self._own.integer))

    def seq_data_iter_random(self, corpus: Sequence[int], batch_size: int, num_steps: int) -> Pairs:
        """Windows at random places of a text, and their labels: the tokens one further on."""
        return text.converted(text.random_windows(corpus, batch_size, num_steps), self._tokens)

    def seq_data_iter_sequential(
        self, corpus: Sequence[int], batch_size: int, num_steps: int
    ) -> Pairs:
        """Windows of a text that continue those of the batch before, and their labels."""
        return text.converted(text.sequential_windows(corpus, batch_size, num_steps), self._tokens)

    def SeqDataLoader(
        self, batch_size: int, num_steps: int, use_random_iter: bool, max_tokens: int
    ) -> text.TextBatches:
        """Batches of windows of The Time Machine by characters."""
        return text.TextBatches(batch_size, num_steps, use_random_iter, max_tokens, self._tokens)

    def load_data_time_machine(
        self,
        batch_size: int,
        num_steps: int,
        use_random_iter: bool = False,
        max_tokens: int = 10_000,
    ) -> tuple[text.TextBatches, text.Vocab]:
        """Such batches, and the vocabulary."""
        data_iter = self.SeqDataLoader(batch_size, num_steps, use_random_iter, max_tokens)
        return data_iter, data_iter.vocab


def over(own: Primitives) -> Loading:
    """These names in a framework."""
    return Loading(own)
