"""Classifiers of images: accuracy, and the training functions of chapters 3 and 6."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from lockstep.d2l import options
from lockstep.d2l.batches import get_fashion_mnist_labels
from lockstep.d2l.loops import epochs, evaluation_batches, train_classifier
from lockstep.d2l.measuring import Accumulator, Timer
from lockstep.d2l.plotting import Animator, show_images


def accuracy(y_hat: Any, y: Any) -> float:
    """The number of hits."""
    if len(y_hat.shape) > 1 and y_hat.shape[1] > 1:
        y_hat = tf.argmax(y_hat, axis=1)
    hits = tf.cast(y_hat, y.dtype) == y
    return float(tf.reduce_sum(tf.cast(hits, tf.float32)))


def evaluate_accuracy(net: Any, data_iter: Any) -> float:
    """The share of hits over all batches."""
    metric = Accumulator(2)
    for X, y in data_iter:
        metric.add(accuracy(net(X), y), tf.size(y))
    return metric[0] / metric[1]


def evaluate_loss(net: Any, data_iter: Any, loss: Callable[[Any, Any], Any]) -> float:
    """The mean of a loss over all examples, or over batches if it gives their means."""
    metric = Accumulator(2)
    for X, y in evaluation_batches(data_iter):
        each = loss(net(X), y)
        metric.add(tf.reduce_sum(each), tf.size(each))
    return metric[0] / metric[1]


def train_epoch_ch3(
    net: Any, train_iter: Any, loss: Callable[..., Any], updater: Any
) -> tuple[float, float]:
    """One epoch with a Keras optimizer, or with an update of one's own; loss and accuracy."""
    is_keras = isinstance(updater, tf.keras.optimizers.Optimizer)
    metric = Accumulator(3)
    for X, y in train_iter:
        with tf.GradientTape() as tape:
            y_hat = net(X)
            keras_loss = isinstance(loss, tf.keras.losses.Loss)
            each = loss(y, y_hat) if keras_loss else loss(y_hat, y)
        if is_keras:
            params = net.trainable_variables
            updater.apply_gradients(zip(tape.gradient(each, params), params, strict=True))
        else:
            updater(X.shape[0], tape.gradient(each, updater.params))
        total = each * float(tf.size(y)) if keras_loss else tf.reduce_sum(each)
        metric.add(total, accuracy(y_hat, y), tf.size(y))
    return metric[0] / metric[2], metric[1] / metric[2]


def train_ch3(
    net: Any, train_iter: Any, test_iter: Any, loss: Callable[..., Any], num_epochs: int,
    updater: Any,
) -> None:  # fmt: skip
    train_classifier(
        lambda: train_epoch_ch3(net, train_iter, loss, updater),
        lambda: evaluate_accuracy(net, test_iter),
        epochs(num_epochs, options.current().image_epochs),
    )


def predict_ch3(net: Any, test_iter: Any, n: int = 6) -> None:
    """The first images of the test set, with what they are and what the net says."""
    X, y = next(iter(test_iter))
    said = tf.argmax(net(X), axis=1)
    pairs = zip(get_fashion_mnist_labels(y), get_fashion_mnist_labels(said), strict=True)
    titles = [f"{true}\n{guess}" for true, guess in pairs]
    show_images(tf.reshape(X[:n], (n, 28, 28)), 1, n, titles=titles[:n])


class TrainCallback(tf.keras.callbacks.Callback):
    """Draws loss and accuracy after each epoch of Keras' `fit`, and prints how it ended."""

    def __init__(
        self, net: Any, train_iter: Any, test_iter: Any, num_epochs: int, device_name: str
    ) -> None:
        super().__init__()
        self.timer, self.net, self.device_name = Timer(), net, device_name
        self.train_iter, self.test_iter, self.num_epochs = train_iter, test_iter, num_epochs
        self.timer.times.clear()
        self.animator = Animator(
            "epoch", xlim=[1, num_epochs], legend=["train loss", "train acc", "test acc"]
        )

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.timer.start()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.timer.stop()
        tested = self.net.evaluate(self.test_iter, verbose=0, return_dict=True)
        self.animator.add(epoch + 1, (logs["loss"], logs["accuracy"], tested["accuracy"]))
        if epoch == self.num_epochs - 1:
            size = next(iter(self.train_iter))[0].shape[0]
            count = size * int(tf.data.experimental.cardinality(self.train_iter).numpy())
            print(
                f"loss {logs['loss']:.3f}, train acc {logs['accuracy']:.3f}, "
                f"test acc {tested['accuracy']:.3f}\n"
                f"{count / self.timer.avg():.1f} examples/sec on {self.device_name}"
            )


def train_ch6(
    net_fn: Callable[[], Any], train_iter: Any, test_iter: Any, num_epochs: int, lr: float,
    device: Any,
) -> Any:  # fmt: skip
    """Train with SGD on a device; the trained net."""
    num_epochs = epochs(num_epochs, options.current().image_epochs)
    strategy = tf.distribute.OneDeviceStrategy(device._device_name)
    with strategy.scope():
        optimizer = tf.keras.optimizers.SGD(learning_rate=lr)
        loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        net = net_fn()
        net.compile(optimizer=optimizer, loss=loss, metrics=["accuracy"])
    callback = TrainCallback(net, train_iter, test_iter, num_epochs, device._device_name)
    net.fit(train_iter, epochs=num_epochs, verbose=0, callbacks=[callback])
    return net
