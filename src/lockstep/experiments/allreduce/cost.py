"""How long a plan should take: the latency-bandwidth model, by counting what each round moves.

Its four figures of a link are measured by timing a few small plans, the probes, with the transport
whose times are to be predicted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import NamedTuple

from lockstep.errors import InputError
from lockstep.experiments.allreduce.transfers import Plan, Round, Transfer, count_moved, make_plan

NUM_ROUNDS = 8  # of a probe
ITEMSIZE = 4
LARGE = 2_000_000  # elements of a probe: 8 MB, as the parts of a large buffer


@dataclass(frozen=True)
class Link:
    """What a device can do: seconds and bytes per second.

    `latency` is the time of a round that moves nothing to speak of, `bandwidth` what one device
    sends and, at the same time, receives; `adding` how fast it adds what it received. Devices that
    share a machine share what it can move in all: `shared`. On a network that is infinite.
    """

    latency: float
    bandwidth: float
    adding: float = math.inf
    shared: float = math.inf


@dataclass(frozen=True)
class Hosts:
    """Devices 0, 1, ... in servers of `per_host` each. A server has one link, of the bandwidth that
    Link names, for all its devices; each device is joined to it, and to the others of its server,
    at `inner` bytes per second, both ways."""

    per_host: int = 1
    inner: float = math.inf

    def __post_init__(self) -> None:
        if self.per_host < 1:
            raise InputError(
                "per-host", self.per_host, "is not a number of devices", "Give 1 or more."
            )


class Load(NamedTuple):
    """What `times` equal rounds of a plan ask for, each, in elements: the most that one device
    sends or receives, the most that one server does, all together, the most that one adds."""

    device: int
    host: int
    total: int
    added: int
    times: int = 1


def predict(plan: Plan, itemsize: int, link: Link, hosts: Hosts | None = None) -> float:
    """Seconds: T = sum over rounds of

        latency + max(max over servers of max(sent, received) / bandwidth,
                      max over devices of max(sent, received) / inner, total / shared)
                + max over devices of added / adding

    in bytes of that round. Without `hosts` every device is a server of its own.

    >>> from lockstep.experiments.allreduce.algorithms import gather_broadcast, ring
    >>> link = Link(latency=0.0, bandwidth=8e6)
    >>> predict(gather_broadcast(4, 1_000_000), 8, link), predict(ring(4, 1_000_000), 8, link)
    (6.0, 1.5)
    >>> predict(gather_broadcast(4, 1_000_000), 8, link, Hosts(2))  # two of six stay inside
    4.0
    """
    hosts = hosts or Hosts()
    loads = [_load(plan, part, hosts.per_host) for part in plan.rounds]
    return sum((load_seconds(load, itemsize, link, hosts) for load in loads), start=0.0)


def load_seconds(load: Load, itemsize: int, link: Link, hosts: Hosts) -> float:
    """Seconds of rounds that ask for so much: the formula above.

    >>> load_seconds(Load(10, 20, 40, 10, times=2), 4, Link(1.0, 8.0), Hosts(2, inner=40.0))
    22.0
    """
    moving = max(load.host / link.bandwidth, load.device / hosts.inner, load.total / link.shared)
    return load.times * (link.latency + itemsize * (moving + load.added / link.adding))


def _load(plan: Plan, part: Round, per_host: int) -> Load:
    crossing = [
        Transfer(t.source // per_host, t.target // per_host, t.start, t.stop, t.adds)
        for t in part
        if t.source // per_host != t.target // per_host
    ]
    device, host = (max(map(max, count_moved(plan.num_devices, ts))) for ts in (part, crossing))
    _, added = count_moved(plan.num_devices, (t for t in part if t.adds))
    return Load(device, host, sum(t.length for t in part), max(added))


# --- measuring a link -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Probe:
    """A plan to be timed; not an allreduce."""

    plan: Callable[[int, int], Plan]
    length: int


def ping_pong(num_devices: int, length: int, adds: bool = False) -> Plan:
    """The whole buffer from device 0 to 1 and back, while the others wait; added to what is there,
    or in its place.

    >>> ping_pong(3, 5).sent
    (20, 20, 0)
    """
    ways = [(turn % 2, 1 - turn % 2) for turn in range(NUM_ROUNDS if num_devices > 1 else 0)]
    return make_plan(num_devices, length, [[Transfer(*way, 0, length, adds)] for way in ways])


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
    "adding": Probe(partial(ping_pong, adds=True), LARGE),
    "shared": Probe(exchange, LARGE),
}


def fit(num_devices: int, seconds: Mapping[str, Sequence[float]]) -> Link:
    """The link that explains the medians of the probes, with per-byte times that are never
    negative: what is too fast to be distinguished from noise counts as infinitely fast.

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
    return float(f"{num_bytes / seconds:.4g}") if seconds > 0 else math.inf
