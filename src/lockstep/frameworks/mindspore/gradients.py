"""Gradients of functions that may fail.

An exception inside ms.value_and_grad leaves MindSpore recording: every graph that the process runs
later is differentiated too, and some of them fail for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindspore as ms


def value_and_grad(
    scalar: Callable[..., ms.Tensor], positions: tuple[int, ...] | None, weights: Any = None
) -> Callable[..., tuple[ms.Tensor, Any]]:
    """ms.value_and_grad; what `scalar` raises is raised once MindSpore has come to its end."""
    failed: list[Exception] = []

    def guarded(*tensors: ms.Tensor) -> ms.Tensor:
        try:
            return scalar(*tensors)
        except Exception as error:
            failed.append(error)
            return ms.Tensor(0.0)

    gradient = ms.value_and_grad(guarded, positions, weights)

    def call(*tensors: ms.Tensor) -> tuple[ms.Tensor, Any]:
        value, grads = gradient(*tensors)
        if failed:
            raise failed[0]
        return value, grads

    return call
