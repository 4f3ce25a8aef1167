"""How long a plan should take: the latency-bandwidth model, by counting what each round moves."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lockstep.parallel.transfers import Plan, Round, count_received, count_sent


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


def predict(plan: Plan, itemsize: int, link: Link) -> float:
    """Seconds: T = sum over rounds of

        latency + max(max over devices of max(sent, received) / bandwidth, total / shared)
                + max over devices of added / adding

    in bytes of that round.

    >>> from lockstep.parallel.algorithms import gather_broadcast, ring
    >>> link = Link(latency=0.0, bandwidth=8e6)
    >>> predict(gather_broadcast(4, 1_000_000), 8, link), predict(ring(4, 1_000_000), 8, link)
    (6.0, 1.5)
    """
    return sum((_round_seconds(plan, part, itemsize, link) for part in plan.rounds), start=0.0)


def _round_seconds(plan: Plan, part: Round, itemsize: int, link: Link) -> float:
    sent = count_sent(plan.num_devices, part)
    received = count_received(plan.num_devices, part)
    added = count_received(plan.num_devices, (t for t in part if t.adds))
    moving = max(*sent, *received) * itemsize / link.bandwidth
    together = sum(sent) * itemsize / link.shared
    return link.latency + max(moving, together) + max(added) * itemsize / link.adding
