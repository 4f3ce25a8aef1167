"""What the shared files of this room need of TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from lockstep.d2l import options
from lockstep.d2l.batches import Finish
from lockstep.d2l.primitives import Primitives


def _batches(
    arrays: Sequence[Any], batch_size: int, is_train: bool, finish: Finish | None, most: int | None
) -> Any:
    """A tf.data.Dataset: cells ask for its cardinality."""
    held = tuple(tf.constant(array) for array in arrays)
    count = len(held[0])
    places = _shuffled(count) if is_train else tf.data.Dataset.range(count)
    found = places.batch(batch_size).map(lambda rows: tuple(tf.gather(a, rows) for a in held))
    found = found.apply(tf.data.experimental.assert_cardinality(-(-count // batch_size)))
    if finish is not None:
        found = found.map(_in_graph(finish, [array[:1] for array in arrays]))
    if most is not None:
        found = found.take(options.shortened("batches of a pass", len(found), most))
    return found


def _shuffled(count: int) -> Any:
    """The places 0 to count - 1 in a new order each pass. They are shuffled at once: the buffer of
    `Dataset.shuffle` is filled one by one before the first batch."""

    def order(seed: Any) -> Any:
        places = tf.range(count, dtype=tf.int64)
        shuffled = tf.random.experimental.stateless_shuffle(places, seed=tf.stack([seed, seed]))
        return tf.data.Dataset.from_tensor_slices(shuffled)

    return tf.data.Dataset.random(rerandomize_each_iteration=True).take(1).flat_map(order)


def _in_graph(finish: Finish, example: Sequence[Any]) -> Callable[..., Any]:
    """A function of NumPy's arrays as one of tensors; `example` is a batch of one row."""
    made = finish(*example)

    def finished(*parts: Any) -> tuple[Any, ...]:
        out = tf.numpy_function(finish, parts, [part.dtype for part in made])
        for tensor, part in zip(out, made, strict=True):
            tensor.set_shape((None, *part.shape[1:]))
        return tuple(out)

    return finished


def _update(net: Any, X: Any, y: Any, loss: Callable[..., Any], updater: Any) -> tuple[Any, Any]:
    """`updater` is Keras', or takes the batch size and the gradients of `updater.params`."""
    is_keras = isinstance(updater, tf.keras.optimizers.Optimizer)
    with tf.GradientTape() as tape:
        y_hat = net(X)
        keras_loss = isinstance(loss, tf.keras.losses.Loss)
        each = loss(y, y_hat) if keras_loss else loss(y_hat, y)
    if is_keras:
        params = net.trainable_variables
        updater.apply_gradients(zip(tape.gradient(each, params), params, strict=True))
    else:
        updater(X.shape[0], tape.gradient(each, updater.params))
    return each, y_hat


def _to_device(tensor: Any, device: Any) -> Any:
    if device is None:
        return tensor
    with device:
        return tf.identity(tensor)


PRIMITIVES = Primitives(
    array=tf.constant,
    order=np.random.permutation,
    normal=tf.random.normal,
    cpu=lambda: tf.device("/CPU:0"),
    gpu=lambda i: tf.device(f"/GPU:{i}"),
    num_gpus=lambda: len(tf.config.list_physical_devices("GPU")),
    update=_update,
    integer=np.int32,
    channels_last=True,
    reshape=tf.reshape,
    to_device=_to_device,
    batches=_batches,
)
