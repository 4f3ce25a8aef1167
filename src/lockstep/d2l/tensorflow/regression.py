"""Linear regression: the model, its loss, its update, and the training of the chapters on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import tensorflow as tf

from lockstep.d2l import classifying
from lockstep.d2l.loops import train_regression
from lockstep.d2l.tensorflow.primitives import PRIMITIVES

_evaluate_loss = classifying.over(PRIMITIVES).evaluate_loss


def linreg(X: Any, w: Any, b: Any) -> Any:
    return tf.matmul(X, w) + b


def squared_loss(y_hat: Any, y: Any) -> Any:
    """Half the squared error of each example."""
    return (y_hat - tf.reshape(y, y_hat.shape)) ** 2 / 2


def sgd(params: Iterable[Any], grads: Iterable[Any], lr: float, batch_size: int) -> None:
    """One step down the gradients of a loss that was summed over the batch."""
    for param, grad in zip(params, grads, strict=True):
        param.assign_sub(lr * grad / batch_size)


def _count(data_iter: Any) -> int:
    return int(tf.data.experimental.cardinality(data_iter).numpy())


def train_ch11(
    trainer_fn: Callable[..., object], states: Any, hyperparams: Mapping[str, Any], data_iter: Any,
    feature_dim: int, num_epochs: int = 2,
) -> tuple[list[float], list[float]]:  # fmt: skip
    """Train a linear model with an update rule; times and losses of its measurements."""
    w = tf.Variable(tf.random.normal((feature_dim, 1), stddev=0.01))
    b = tf.Variable(tf.zeros(1))

    def net(x: Any) -> Any:
        return linreg(x, w, b)

    def step(x: Any, y: Any) -> None:
        with tf.GradientTape() as tape:
            value = tf.reduce_mean(squared_loss(net(x), y))
        trainer_fn([w, b], tape.gradient(value, [w, b]), states, hyperparams)

    def evaluate() -> float:
        return _evaluate_loss(net, data_iter, squared_loss)

    return train_regression(step, evaluate, data_iter, num_epochs, _count(data_iter))


def train_concise_ch11(
    trainer_fn: Callable[..., Any], hyperparams: Mapping[str, Any], data_iter: Any,
    num_epochs: int = 2,
) -> None:  # fmt: skip
    """The same with Keras' layer and optimizer. Its loss has no factor 1/2."""
    initial = tf.random_normal_initializer(stddev=0.01)
    net = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer=initial)])
    optimizer, loss = trainer_fn(**hyperparams), tf.keras.losses.MeanSquaredError()

    def step(x: Any, y: Any) -> None:
        with tf.GradientTape() as tape:
            value = loss(y, net(x))
        params = net.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(value, params), params, strict=True))

    def evaluate() -> float:
        return _evaluate_loss(net, data_iter, loss) / 2

    train_regression(step, evaluate, data_iter, num_epochs, _count(data_iter))
