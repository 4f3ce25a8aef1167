"""The chapters' data as tf.data.Datasets, which cells ask for their length, and windows of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf

from lockstep.d2l import options, text
from lockstep.d2l.batches import fashion_mnist_examples, whitened
from lockstep.d2l.downloads import download

Pairs = Iterator[tuple[Any, Any]]


def _batches(arrays: Sequence[Any], batch_size: int, is_train: bool) -> Any:
    """Batches of rows; the places are shuffled, not the rows, which is faster."""
    held = tuple(tf.constant(array) for array in arrays)
    places = tf.data.Dataset.range(len(held[0]))
    if is_train:
        places = places.shuffle(len(held[0]), reshuffle_each_iteration=True)
    return places.batch(batch_size).map(lambda rows: tuple(tf.gather(a, rows) for a in held))


def load_array(data_arrays: Sequence[Any], batch_size: int, is_train: bool = True) -> Any:
    """Batches of rows, in training in a new order each pass."""
    return _batches(data_arrays, batch_size, is_train)


def load_data_fashion_mnist(batch_size: int, resize: int | None = None) -> tuple[Any, Any]:
    """Training and test batches: x (B, 28, 28, 1) from 0 to 1, or of another size; y (B,)."""

    def finish(x: Any, y: Any) -> tuple[Any, Any]:
        images = tf.cast(x[..., None], tf.float32) / 255
        if resize:
            images = tf.image.resize_with_pad(images, resize, resize)
        return images, y

    now = options.current()
    made = []
    limits = (now.train_batches, now.test_batches)
    for place, (part, most) in enumerate(zip(fashion_mnist_examples(), limits, strict=True)):
        batches = _batches((part.x, part.y), batch_size, is_train=place == 0).map(finish)
        count = options.shortened("batches of a pass", -(-len(part.x) // batch_size), most)
        made.append(batches.take(count))
    return made[0], made[1]


def get_data_ch11(batch_size: int = 10, n: int = 1500) -> tuple[Any, int]:
    """Batches of the first n rows of the airfoil data, whitened, and the number of features."""
    data = whitened(download("airfoil"))
    return load_array((data[:n, :-1], data[:n, -1]), batch_size), data.shape[1] - 1


def synthetic_data(w: Any, b: float, num_examples: int) -> tuple[Any, Any]:
    """x standard normal (N, len(w)), and y = x w + b with noise of standard deviation 0.01."""
    x = tf.random.normal((num_examples, w.shape[0]))
    y = tf.matmul(x, tf.reshape(w, (-1, 1))) + b
    return x, y + tf.random.normal(y.shape, stddev=0.01)


def seq_data_iter_random(corpus: Sequence[int], batch_size: int, num_steps: int) -> Pairs:
    return text.converted(text.random_windows(corpus, batch_size, num_steps), tf.constant)


def seq_data_iter_sequential(corpus: Sequence[int], batch_size: int, num_steps: int) -> Pairs:
    return text.converted(text.sequential_windows(corpus, batch_size, num_steps), tf.constant)


def SeqDataLoader(
    batch_size: int, num_steps: int, use_random_iter: bool, max_tokens: int
) -> text.TextBatches:
    return text.TextBatches(batch_size, num_steps, use_random_iter, max_tokens, tf.constant)


def load_data_time_machine(
    batch_size: int, num_steps: int, use_random_iter: bool = False, max_tokens: int = 10_000
) -> tuple[text.TextBatches, text.Vocab]:
    """Batches of The Time Machine by characters, and its vocabulary."""
    data_iter = SeqDataLoader(batch_size, num_steps, use_random_iter, max_tokens)
    return data_iter, data_iter.vocab
