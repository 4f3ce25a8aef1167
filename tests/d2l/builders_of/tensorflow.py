"""As TensorFlow's cells do it, with Keras 2."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

layers = tf.keras.layers


def sgd_rule(params: Any, grads: Any, states: Any, hyperparams: Any) -> None:
    for param, grad in zip(params, grads, strict=True):
        param.assign_sub(hyperparams["lr"] * grad)


def concise() -> tuple[Any, dict[str, float]]:
    return tf.keras.optimizers.SGD, {"learning_rate": 0.1}


def linear() -> tuple[Any, Any, Any]:
    net = tf.keras.Sequential([layers.Flatten(), layers.Dense(10)])
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return net, loss, tf.keras.optimizers.SGD(learning_rate=0.1)


def train_ch6(d2l: Any, train: Any, test: Any) -> None:
    def net() -> Any:
        parts = [layers.Conv2D(6, 5, padding="same", activation="relu"), layers.AvgPool2D(4)]
        return tf.keras.Sequential([*parts, layers.Flatten(), layers.Dense(10)])

    d2l.train_ch6(net, train, test, 2, 0.3, d2l.try_gpu())


def train_ch8(d2l: Any, batches: Any, vocab: Any) -> str:
    strategy = tf.distribute.OneDeviceStrategy(d2l.try_gpu()._device_name)
    with strategy.scope():
        cell = layers.GRUCell(16)
        layer = layers.RNN(cell, time_major=True, return_sequences=True, return_state=True)
        net = d2l.RNNModel(layer, len(vocab))
    d2l.train_ch8(net, batches, vocab, 1.0, 60, strategy)
    return str(d2l.predict_ch8("ab", 6, net, vocab))
