"""What an allreduce moves: a plan of rounds, each a set of transfers that happen at the same time.

A plan says everything that there is to say about an algorithm: executing it (local_plans.py,
process_plans.py) sums buffers, counting it gives bytes and rounds, and weighing it (cost.py) gives
the time it should take. Nothing here moves anything.

Within a round
- a device sends what it had when the round began, and writes nothing that it sends, so that a
  transport may read a buffer where it lies;
- a device sends at most one part to another, so that nothing need say which of two it is;
- adding transfers into the same part of one device are summed in the order of the ranks, its own
  part in its own place: x_0 + x_1 + ..., whichever arrives first. Runs repeat bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from lockstep.errors import InputError
from lockstep.processes.splitting import check_num_devices


class Transfer(NamedTuple):
    """Elements start, ..., stop - 1 go from one device to the same place of another, where they are
    added or, if not `adds`, put in place of what was there."""

    source: int
    target: int
    start: int
    stop: int
    adds: bool

    @property
    def length(self) -> int:
        return self.stop - self.start


Round = tuple[Transfer, ...]


class Arrival(NamedTuple):
    """All that arrives in one part of one device in one round; sources in the order of ranks."""

    target: int
    start: int
    stop: int
    sources: tuple[int, ...]
    adds: bool

    @property
    def num_below(self) -> int:
        """How many of the sources come before the target in the order of ranks."""
        return sum(source < self.target for source in self.sources)


@dataclass(frozen=True)
class Plan:
    """The rounds that leave the sum of all devices' buffers, `length` elements, on every device.

    >>> swap = Transfer(0, 1, 0, 4, True), Transfer(1, 0, 4, 8, True)
    >>> plan = Plan(2, 8, (swap,))
    >>> plan.sent, plan.received, plan.num_rounds
    ((4, 4), (4, 4), 1)
    """

    num_devices: int
    length: int
    rounds: tuple[Round, ...]

    @property
    def num_rounds(self) -> int:
        return len(self.rounds)

    @property
    def sent(self) -> tuple[int, ...]:
        """Elements that each device sends."""
        return count_moved(self.num_devices, (t for part in self.rounds for t in part))[0]

    @property
    def received(self) -> tuple[int, ...]:
        """Elements that each device receives."""
        return count_moved(self.num_devices, (t for part in self.rounds for t in part))[1]


def make_plan(num_devices: int, length: int, rounds: Iterable[Iterable[Transfer]]) -> Plan:
    """The plan of these rounds, without transfers of nothing and rounds without transfers."""
    check_num_devices(num_devices)
    if length < 0:
        raise InputError("length", length, "is negative", "Give 0 elements or more.")
    full = (tuple(t for t in part if t.length) for part in rounds)
    return Plan(num_devices, length, tuple(part for part in full if part))


def count_moved(count: int, transfers: Iterable[Transfer]) -> tuple[tuple[int, ...], ...]:
    """Elements that each of `count` devices sends, and receives, in these transfers."""
    sent, received = [0] * count, [0] * count
    for transfer in transfers:
        sent[transfer.source] += transfer.length
        received[transfer.target] += transfer.length
    return tuple(sent), tuple(received)


def arrivals(part: Round) -> tuple[Arrival, ...]:
    """The transfers of a round, those into the same place put together.

    >>> [a.sources for a in arrivals((Transfer(2, 0, 0, 4, True), Transfer(1, 0, 0, 4, True)))]
    [(1, 2)]
    """
    found: dict[tuple[int, int, int, bool], list[int]] = {}
    for source, target, start, stop, adds in part:
        found.setdefault((target, start, stop, adds), []).append(source)
    return tuple(
        Arrival(target, start, stop, tuple(sorted(sources)), adds)
        for (target, start, stop, adds), sources in found.items()
    )
