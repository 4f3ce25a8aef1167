"""How long a plan should take: the latency-bandwidth model, by counting what each round moves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lockstep.errors import InputError
from lockstep.experiments.allreduce.transfers import (
    Plan,
    Round,
    Transfer,
    count_received,
    count_sent,
)


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
            raise InputError("per-host", self.per_host, "is not a number of devices", "Give 1 up.")


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
    device = _busiest(plan.num_devices, part)
    crossing = [
        Transfer(t.source // per_host, t.target // per_host, t.start, t.stop, t.adds)
        for t in part
        if t.source // per_host != t.target // per_host
    ]
    added = count_received(plan.num_devices, (t for t in part if t.adds))
    total = sum(t.length for t in part)
    return Load(device, _busiest(plan.num_devices, crossing), total, max(added))


def _busiest(count: int, transfers: Sequence[Transfer]) -> int:
    return max(*count_sent(count, transfers), *count_received(count, transfers))
