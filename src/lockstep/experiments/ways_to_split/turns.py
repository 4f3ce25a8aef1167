"""In which order the ways have their steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

# timed steps in a row: what another way left in memory and caches would otherwise count, as a fifth
# of one device's time
BLOCK = 10


class Turn(NamedTuple):
    """The `step`-th update of a way, from 0, which is its batch too; `repeat` numbers those that
    are timed, and is -1 for one that warms up."""

    way: str
    step: int
    repeat: int


def turns(ways: Sequence[str], steps: int) -> Iterator[Turn]:
    """One step of each way, then blocks of timed steps in turns, each after one more to warm up and
    each round beginning with another way: what disturbs the machine disturbs all alike.

    >>> [(turn.way, turn.repeat) for turn in turns(["a", "b"], 2)]
    [('a', -1), ('b', -1), ('a', -1), ('a', 0), ('a', 1), ('b', -1), ('b', 0), ('b', 1)]
    """
    for way in ways:
        yield Turn(way, 0, -1)
    for number, begin in enumerate(range(0, steps, BLOCK)):
        shift = number % max(1, len(ways))
        for way in [*ways[shift:], *ways[:shift]]:
            yield Turn(way, begin + number + 1, -1)
            for repeat in range(begin, min(begin + BLOCK, steps)):
                yield Turn(way, repeat + number + 2, repeat)


def num_updates(steps: int) -> int:
    """How many updates each way makes: the timed ones, and those that warm up.

    >>> num_updates(2), num_updates(20), num_updates(21)
    (4, 23, 25)
    """
    return steps + 1 + -(-steps // BLOCK)
