"""What a training loop asks of the devices beside its own, so that it never asks how many there
are. On one device that is nothing: NullCollective."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

Buffers = Sequence[np.ndarray]


class Collective(Protocol):
    """One device among `world_size`. All ranks call the same methods in the same order, with
    buffers of the same shapes and types."""

    @property
    def rank(self) -> int: ...

    @property
    def world_size(self) -> int: ...

    def all_reduce(self, buffers: Buffers) -> Buffers:
        """The sums over all ranks, the same bits on each. The buffers given may be overwritten."""
        ...

    def broadcast(self, buffers: Buffers, source: int = 0) -> Buffers:
        """What rank `source` gave. The buffers given may be overwritten."""
        ...

    def barrier(self) -> None:
        """Return once every rank has come here."""
        ...


class NullCollective:
    """The only device: sums over one, and nobody to wait for.

    >>> x = np.array([1.0, 2.0])
    >>> NullCollective().all_reduce([x])[0] is x
    True
    """

    rank = 0
    world_size = 1

    def all_reduce(self, buffers: Buffers) -> Buffers:
        return buffers

    def broadcast(self, buffers: Buffers, source: int = 0) -> Buffers:
        return buffers

    def barrier(self) -> None:
        return None
