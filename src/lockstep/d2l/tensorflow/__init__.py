"""The d2l names in TensorFlow: `from lockstep.d2l import tensorflow as d2l`.

That import has `tf.keras` be Keras 2, unless it was used before.
"""

from __future__ import annotations

from typing import Any

from lockstep.d2l import names
from lockstep.d2l.tensorflow import startup

startup.prefer_keras_2()


def __getattr__(name: str) -> Any:
    return names.find(__name__, name)


def __dir__() -> list[str]:
    return names.known(__name__)
