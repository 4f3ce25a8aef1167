"""Measuring a link: a few small plans, timed by the same transport that is to be predicted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from lockstep.experiments.allreduce.cost import Link
from lockstep.experiments.allreduce.transfers import Plan, Transfer, make_plan

NUM_ROUNDS = 8  # of a probe
ITEMSIZE = 4
LARGE = 2_000_000  # elements of a probe: 8 MB, as the parts of a large buffer


@dataclass(frozen=True)
class Probe:
    """A plan to be timed; not an allreduce."""

    plan: Callable[[int, int], Plan]
    length: int


def ping_pong(num_devices: int, length: int, adds: bool = False) -> Plan:
    """The whole buffer from device 0 to 1 and back, while the others wait.

    >>> ping_pong(3, 5).sent
    (20, 20, 0)
    """
    ways = [(turn % 2, 1 - turn % 2) for turn in range(NUM_ROUNDS if num_devices > 1 else 0)]
    return make_plan(num_devices, length, [[Transfer(*way, 0, length, adds)] for way in ways])


def adding_ping_pong(num_devices: int, length: int) -> Plan:
    """The same, added to what is there."""
    return ping_pong(num_devices, length, adds=True)


def exchange(num_devices: int, length: int) -> Plan:
    """All devices at once, in pairs: each gives its partner another half.

    >>> exchange(3, 4).sent
    (16, 16, 0)
    """
    middle = length // 2
    pairs = [(low, low + 1) for low in range(0, num_devices - 1, 2)]
    both = [Transfer(low, high, 0, middle, False) for low, high in pairs]
    both += [Transfer(high, low, middle, length, False) for low, high in pairs]
    return make_plan(num_devices, length, [both] * NUM_ROUNDS)


PROBES: dict[str, Probe] = {
    "latency": Probe(ping_pong, 1),
    "bandwidth": Probe(ping_pong, LARGE),
    "adding": Probe(adding_ping_pong, LARGE),
    "shared": Probe(exchange, LARGE),
}


def fit(num_devices: int, seconds: Mapping[str, Sequence[float]]) -> Link:
    """The link that explains the medians of the probes, with per-byte times that are never
    negative: what is too fast to be told from noise counts as infinitely fast.

    >>> round_of = {"latency": 1e-4, "bandwidth": 4.1e-3, "adding": 5.1e-3, "shared": 8.1e-3}
    >>> fit(4, {name: [NUM_ROUNDS * t] for name, t in round_of.items()})
    Link(latency=0.0001, bandwidth=2000000000.0, adding=8000000000.0, shared=2000000000.0)
    """
    each = {name: median(times) / NUM_ROUNDS for name, times in seconds.items()}
    num_bytes = LARGE * ITEMSIZE
    moved = sum(exchange(num_devices, LARGE).sent) * ITEMSIZE / NUM_ROUNDS
    return Link(
        each["latency"],
        _rate(num_bytes, each["bandwidth"] - each["latency"]),
        _rate(num_bytes, each["adding"] - each["bandwidth"]),
        _rate(moved, each["shared"] - each["latency"]),
    )


def _rate(num_bytes: float, seconds: float) -> float:
    return float(f"{num_bytes / seconds:.4g}") if seconds > 0 else float("inf")
