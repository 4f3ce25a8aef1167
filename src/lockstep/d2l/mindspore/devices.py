"""Which device a cell computes on: MindSpore chooses one for the whole process."""

from __future__ import annotations


def cpu() -> str:
    return "CPU"


def gpu(i: int = 0) -> str:
    return "GPU"


def num_gpus() -> int:
    """0: MindSpore's package of this version has no GPUs."""
    return 0


def try_gpu(i: int = 0) -> str:
    """The processor."""
    return cpu()


def try_all_gpus() -> list[str]:
    """The processor alone."""
    return [cpu()]
