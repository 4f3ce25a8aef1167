"""The training of chapter 6 on images, and the callback of Keras that draws it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from lockstep.d2l import options
from lockstep.d2l.loops import epochs
from lockstep.d2l.plotting import Animator
from lockstep.d2l.timer import Timer


class TrainCallback(tf.keras.callbacks.Callback):
    """Draws loss and accuracy after each epoch of Keras' `fit`, and prints how it ended."""

    def __init__(
        self, net: Any, train_iter: Any, test_iter: Any, num_epochs: int, device_name: str
    ) -> None:
        super().__init__()
        self.timer, self.net, self.device_name = Timer(), net, device_name
        self.train_iter, self.test_iter, self.num_epochs = train_iter, test_iter, num_epochs
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
