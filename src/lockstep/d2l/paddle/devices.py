"""Which device a cell computes on: a GPU if there is one, real or virtual, else the processor."""

from __future__ import annotations

from typing import Any

import paddle


def cpu() -> Any:
    return paddle.CPUPlace()


def gpu(i: int = 0) -> Any:
    return paddle.CUDAPlace(i)


def num_gpus() -> int:
    return int(paddle.device.cuda.device_count())


def try_gpu(i: int = 0) -> Any:
    """GPU number i if it is there, else the processor."""
    return gpu(i) if num_gpus() >= i + 1 else cpu()


def try_all_gpus() -> list[Any]:
    """Every GPU, or the processor alone."""
    return [gpu(i) for i in range(num_gpus())] or [cpu()]
