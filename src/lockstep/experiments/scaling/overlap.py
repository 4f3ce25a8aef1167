"""One step's exchange: the gradient in buckets, in the order in which the backward pass completes
them, each exchanged when it is ready and the one before is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple


class Piece(NamedTuple):
    """A part of the gradient: `ready` is the share of the backward pass after which it is
    complete, from 0 (at its beginning) to 1 (at its end)."""

    name: str
    length: int
    ready: float


class Way(NamedTuple):
    """How a gradient is exchanged: array by array or in buckets, after the backward pass or while
    it goes on."""

    bucketed: bool
    overlapped: bool

    @property
    def name(self) -> str:
        """
        >>> Way(True, False).name
        'buckets, after'
        """
        pieces = "buckets" if self.bucketed else "arrays"
        return f"{pieces}, {'during' if self.overlapped else 'after'}"


WAYS = (Way(False, False), Way(True, False), Way(False, True), Way(True, True))
AFTER, DURING = WAYS[1], WAYS[3]  # in buckets


def fill_buckets(pieces: Sequence[Piece], limit: int) -> list[Piece]:
    """Neighbours put together as long as they have at most `limit` elements; a larger piece stays
    alone. A bucket is ready with its last piece.

    >>> fill_buckets([Piece("c", 4, 0.2), Piece("b", 3, 0.6), Piece("a", 9, 1.0)], limit=7)
    [Piece(name='c, b', length=7, ready=0.6), Piece(name='a', length=9, ready=1.0)]
    """
    buckets: list[Piece] = []
    for piece in pieces:
        if buckets and buckets[-1].length + piece.length <= limit:
            name, length, ready = buckets.pop()
            piece = Piece(f"{name}, {piece.name}", length + piece.length, max(ready, piece.ready))
        buckets.append(piece)
    return buckets


def exposed(
    pieces: Sequence[Piece], backward: float, cost: Callable[[int], float], overlapped: bool
) -> float:
    """Seconds from the end of the backward pass to that of the last exchange.

        end_i = max(end_{i-1}, ready_i) + cost_i,    exposed = end_last - backward

    with ready_i = ready backward where exchanges overlap it, = backward where they wait for it.

    >>> halves = [Piece("b", 5, 0.5), Piece("a", 5, 1.0)]
    >>> [exposed(halves, 10.0, lambda length: 2.0, overlapped) for overlapped in (False, True)]
    [4.0, 2.0]
    """
    end = 0.0
    for piece in pieces:
        ready = piece.ready * backward if overlapped else backward
        end = max(end, ready) + cost(piece.length)
    return max(0.0, end - backward)
