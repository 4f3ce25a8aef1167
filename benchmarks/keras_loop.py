"""LeNet by Keras on JAX, as a person of Keras would write it: layers, compile, fit."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np


def lenet(images: np.ndarray, labels: np.ndarray, batch_size: int, lr: float) -> Callable[[], None]:
    """LeNet with max-pooling, cross-entropy and SGD; returns an epoch."""
    os.environ["KERAS_BACKEND"] = "jax"  # read once, by the import
    import keras
    from keras import layers

    net = keras.Sequential(
        [
            layers.Conv2D(6, 5, padding="same", activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(16, 5, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Flatten(),
            layers.Dense(120, activation="relu"),
            layers.Dense(84, activation="relu"),
            layers.Dense(10),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    net.compile(optimizer=keras.optimizers.SGD(lr), loss=loss)
    x = images.reshape(-1, 28, 28, 1).astype(np.float32) / 255

    def epoch() -> None:
        net.fit(x, labels, batch_size=batch_size, epochs=1, verbose=0)

    return epoch
