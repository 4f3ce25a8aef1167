"""What every allreduce algorithm asks of its devices, without its plan: a plan over 512 devices has
half a million transfers, of which all that counts is how much the busiest moves in each round.

Tested equal to counting the plans themselves (`cost.predict`). k devices, n elements, servers of h.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from lockstep.errors import unknown
from lockstep.experiments.allreduce.cost import Hosts, Link, Load, load_seconds
from lockstep.processes.splitting import check_num_devices, shard_sizes

Loads = list[Load]


@lru_cache(maxsize=4096)
def exchange_seconds(
    algorithm: str, num_devices: int, length: int, itemsize: int, link: Link, hosts: Hosts
) -> float:
    """`cost.predict` of the algorithm's plan, at once for any number of devices.

    >>> exchange_seconds("ring", 512, 512_000, 4, Link(0.0, 4e6), Hosts())
    1.022
    >>> exchange_seconds("star", 512, 512_000, 4, Link(0.0, 4e6), Hosts(per_host=256))
    262.144
    """
    loads = find_loads(algorithm, num_devices, length, hosts.per_host)
    return sum((load_seconds(load, itemsize, link, hosts) for load in loads), start=0.0)


def find_loads(algorithm: str, num_devices: int, length: int, per_host: int = 1) -> Loads:
    """The loads of all rounds, equal ones together.

    >>> for load in find_loads("ring", 4, 8):
    ...     print(load)
    Load(device=2, host=2, total=8, added=2, times=3)
    Load(device=2, host=2, total=8, added=0, times=3)
    """
    check_num_devices(num_devices)
    if algorithm not in LOADS:
        raise unknown("algorithm", algorithm, LOADS)
    if num_devices == 1 or length == 0:
        return []
    return [load for load in LOADS[algorithm](num_devices, length, per_host) if load.times]


def _both_ways(load: Load) -> Loads:
    """The sums on their way in, and, with as much to move but nothing to add, on their way out."""
    return [load, load._replace(added=0)]


def _gather_broadcast(k: int, n: int, h: int) -> Loads:
    inside = min(h, k) - 1  # rounds between device 0 and another of its server
    return [
        *_both_ways(Load(n, 0, n, n, times=inside)),
        *_both_ways(Load(n, n, n, n, times=k - 1 - inside)),
    ]


def _star(k: int, n: int, h: int) -> Loads:
    all_of_it = (k - 1) * n
    return _both_ways(Load(all_of_it, (k - min(h, k)) * n, all_of_it, all_of_it))


def _sharded(k: int, n: int, h: int) -> Loads:
    """A device with a part of c sends n - c and receives (k-1) c; a server of s devices with parts
    of p together sends s (n - p) and receives (k - s) p. On the way back it is the reverse."""
    parts = np.array(shard_sizes(n, k))
    starts = np.arange(0, k, h)
    sizes, held = np.diff([*starts, k]), np.add.reduceat(parts, starts)
    device = max(n - int(parts.min()), (k - 1) * int(parts.max()))
    host = max((sizes * (n - held)).max(), ((k - sizes) * held).max())
    return _both_ways(Load(device, int(host), (k - 1) * n, (k - 1) * int(parts.max())))


def _ring(k: int, n: int, h: int) -> Loads:
    """In every round each part is under way once. Of a server's devices the last one alone sends
    out of it; where k does not divide n, some rounds have only the smaller parts there."""
    small, larger = divmod(n, k)
    most = small + (larger > 0)
    if h >= k:
        return _both_ways(Load(most, 0, n, most, times=k - 1))
    last = np.minimum(np.arange(h, k + h, h), k) - 1  # of every server
    loads = []
    for first, added in ((0, most), (1, 0)):
        sent = (last + first - np.arange(k - 1)[:, None]) % k  # parts, by round and server
        long = int((sent < larger).any(axis=1).sum()) if larger else k - 1
        loads += [Load(most, most, n, added, long), Load(most, small, n, added, k - 1 - long)]
    return loads


def _tree(k: int, n: int, h: int) -> Loads:
    loads = []
    distance = 1
    while distance < k:
        low = np.arange(0, k - distance, 2 * distance)
        crossing = _most_crossing(low, low + distance, np.ones_like(low), h)
        loads += _both_ways(Load(n, n * crossing, n * len(low), n))
        distance *= 2
    return loads


def _halving_doubling(k: int, n: int, h: int) -> Loads:
    inner = 1 << (k.bit_length() - 1)
    extra = np.arange(inner, k)
    crossing = _most_crossing(extra, extra - inner, np.ones_like(extra), h)
    loads = _both_ways(Load(n, n * crossing, n * len(extra), n, times=int(inner < k)))
    devices, kept = np.arange(inner), np.full(inner, n)
    distance = inner // 2
    while distance:
        upper = (devices & distance) > 0
        kept = np.where(upper, kept // 2, (kept + 1) // 2)
        host = _most_crossing(devices, devices ^ distance, kept[devices ^ distance], h)
        loads += _both_ways(Load(int(kept.max()), host, int(kept.sum()), int(kept.max())))
        distance //= 2
    return loads


def _most_crossing(source: np.ndarray, target: np.ndarray, length: np.ndarray, h: int) -> int:
    """The most that one server sends to others or receives from them."""
    length = np.where(source // h != target // h, length, 0)
    ways = [np.bincount(ends // h, weights=length) for ends in (source, target) if len(ends)]
    return max((int(way.max()) for way in ways), default=0)


LOADS: dict[str, Callable[[int, int, int], Loads]] = {
    "gather_broadcast": _gather_broadcast,
    "star": _star,
    "sharded": _sharded,
    "ring": _ring,
    "tree": _tree,
    "halving_doubling": _halving_doubling,
}
