"""Which device a cell computes on: a GPU if there is one, real or virtual, else the processor."""

from __future__ import annotations

from typing import Any

from lockstep.d2l.primitives import Primitives


class Gpus:
    """The d2l names of devices, in one framework."""

    def __init__(self, own: Primitives) -> None:
        self._own = own

    def cpu(self) -> Any:
        return self._own.cpu()

    def gpu(self, i: int = 0) -> Any:
        return self._own.gpu(i)

    def num_gpus(self) -> int:
        return self._own.num_gpus()

    def try_gpu(self, i: int = 0) -> Any:
        """GPU number i if it is there, else the processor."""
        return self.gpu(i) if i < self.num_gpus() else self.cpu()

    def try_all_gpus(self) -> list[Any]:
        """Every GPU, or the processor alone."""
        return [self.gpu(i) for i in range(self.num_gpus())] or [self.cpu()]


def over(own: Primitives) -> Gpus:
    """These names in a framework."""
    return Gpus(own)
