"""Which device a cell computes on: a GPU if there is one, real or virtual, else the processor."""

from __future__ import annotations

import torch


def cpu() -> torch.device:
    return torch.device("cpu")


def gpu(i: int = 0) -> torch.device:
    return torch.device(f"cuda:{i}")


def num_gpus() -> int:
    return torch.cuda.device_count()


def try_gpu(i: int = 0) -> torch.device:
    """GPU number i if it is there, else the processor."""
    return gpu(i) if num_gpus() >= i + 1 else cpu()


def try_all_gpus() -> list[torch.device]:
    """Every GPU, or the processor alone."""
    return [gpu(i) for i in range(num_gpus())] or [cpu()]
