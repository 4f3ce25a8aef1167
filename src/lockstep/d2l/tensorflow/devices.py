"""Which device a cell computes on: a GPU if there is one, else the processor."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def cpu() -> Any:
    return tf.device("/CPU:0")


def gpu(i: int = 0) -> Any:
    return tf.device(f"/GPU:{i}")


def num_gpus() -> int:
    return len(tf.config.list_physical_devices("GPU"))


def try_gpu(i: int = 0) -> Any:
    """GPU number i if it is there, else the processor."""
    return gpu(i) if num_gpus() >= i + 1 else cpu()


def try_all_gpus() -> list[Any]:
    """Every GPU, or the processor alone."""
    return [gpu(i) for i in range(num_gpus())] or [cpu()]
