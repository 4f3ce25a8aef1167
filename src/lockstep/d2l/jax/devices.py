"""Which device a cell computes on: a GPU if there is one, else the processor."""

from __future__ import annotations

from typing import Any

import jax


def cpu() -> Any:
    return jax.devices("cpu")[0]


def gpu(i: int = 0) -> Any:
    return jax.devices("gpu")[i]


def num_gpus() -> int:
    return jax.device_count() if jax.default_backend() == "gpu" else 0


def try_gpu(i: int = 0) -> Any:
    """GPU number i if it is there, else the processor."""
    return gpu(i) if num_gpus() >= i + 1 else cpu()


def try_all_gpus() -> list[Any]:
    """Every GPU, or the processor alone."""
    return [gpu(i) for i in range(num_gpus())] or [cpu()]
