"""What training on k devices will take, from one device's step and the size of its gradient.

    step_k = compute(batch of one device) + exposed exchange of the gradient

What of the exchange is exposed is in `overlap.py`, what it costs is the latency-bandwidth
model's (`cost.py`). Pure functions; nothing is measured here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from lockstep.errors import InputError
from lockstep.experiments.allreduce.cost import Hosts, Link
from lockstep.experiments.scaling.loads import exchange_seconds
from lockstep.experiments.scaling.overlap import DURING, WAYS, Piece, Way, exposed, fill_buckets
from lockstep.processes.splitting import check_num_devices

SCALINGS = ("weak", "strong")


@dataclass(frozen=True)
class Profile:
    """One device's work. `seconds` has the time of a step for every batch size that is needed;
    `backward` is the backward pass's share of it."""

    name: str
    batch_size: int
    seconds: Mapping[int, float]
    pieces: tuple[Piece, ...]
    backward: float = 2 / 3
    itemsize: int = 4

    def __post_init__(self) -> None:
        for batch_size, seconds in self.seconds.items():
            if not seconds > 0:
                remedy = "Measure it over more steps."
                raise InputError(f"seconds[{batch_size}]", seconds, "is no time of a step", remedy)
        check_share(self.backward)

    @property
    def length(self) -> int:
        """Elements of the gradient."""
        return sum(piece.length for piece in self.pieces)

    @property
    def size(self) -> int:
        """Bytes of the gradient."""
        return self.length * self.itemsize


def check_share(backward: float) -> None:
    """Raise unless it can be a part of a step."""
    if not 0 <= backward <= 1:
        raise InputError("backward", backward, "is no share", "Give 0 to 1, such as 0.67.")


@dataclass(frozen=True)
class Network:
    """What joins the devices, and how much of a gradient is exchanged at once, in bytes."""

    link: Link
    hosts: Hosts = field(default_factory=Hosts)
    bucket: int = 25_000_000


@dataclass(frozen=True)
class Row:
    """One algorithm on k devices: seconds of the step of each way of exchanging.

    `exchange` is that of the whole gradient in buckets, hidden or not; `single` one device's step
    with the recipe's batch size.
    """

    scaling: str
    devices: int
    algorithm: str
    batch_size: int  # of one device
    compute: float
    exchange: float
    steps: Mapping[Way, float]
    single: float

    def speed_up(self, way: Way) -> float:
        """How many times as many examples per second as on one device: weak, k single / step_k;
        strong, single / step_k."""
        work = self.devices if self.scaling == "weak" else 1
        return work * self.single / self.steps[way]

    def efficiency(self, way: Way) -> float:
        """speed_up / k."""
        return self.speed_up(way) / self.devices


def shard(batch_size: int, num_devices: int) -> int:
    """Examples of the device that has the most: ceil(b / k).

    >>> shard(256, 3), shard(4, 8)
    (86, 1)
    """
    check_num_devices(num_devices)
    return -(-batch_size // num_devices)


def batch_sizes(batch_size: int, devices: Sequence[int]) -> list[int]:
    """Every batch size of one device whose time must be known, the recipe's own first.

    >>> batch_sizes(256, [1, 2, 4, 512])
    [256, 128, 64, 1]
    """
    return list(dict.fromkeys([batch_size, *(shard(batch_size, count) for count in devices)]))


def estimate(
    profile: Profile,
    devices: Sequence[int],
    algorithms: Sequence[str],
    network: Network,
    scalings: Sequence[str] = SCALINGS,
    ways: Sequence[Way] = WAYS,
) -> list[Row]:
    """Every algorithm on every number of devices: weak scaling has k b examples in all, strong b.

    >>> profile = Profile("x", 8, {8: 3.0, 4: 1.5}, (Piece("w", 1000, 1.0),))
    >>> rows = estimate(profile, [2], ["ring"], Network(Link(0.0, 4e3)))
    >>> [round(row.efficiency(DURING), 3) for row in rows]
    [0.75, 0.6]
    """
    cases = product(scalings, devices, algorithms)
    return [_row(profile, network, ways, *case) for case in cases]


def _row(
    profile: Profile,
    network: Network,
    ways: Sequence[Way],
    scaling: str,
    devices: int,
    algorithm: str,
) -> Row:
    def cost(length: int) -> float:
        return exchange_seconds(
            algorithm, devices, length, profile.itemsize, network.link, network.hosts
        )

    whole = profile.batch_size
    batch_size = whole if scaling == "weak" else shard(whole, devices)
    compute = profile.seconds[batch_size]
    buckets = fill_buckets(profile.pieces, network.bucket // profile.itemsize)
    backward, steps = compute * profile.backward, {}
    for way in ways:
        pieces = buckets if way.bucketed else profile.pieces
        steps[way] = compute + exposed(pieces, backward, cost, way.overlapped)
    exchange = sum(cost(bucket.length) for bucket in buckets)
    single = profile.seconds[whole]
    return Row(scaling, devices, algorithm, batch_size, compute, exchange, steps, single)


def fastest(rows: Sequence[Row], way: Way = DURING) -> Row:
    """The row with the most examples per second, the fewest devices at ties.

    >>> profile = Profile("x", 8, {8: 3.0, 4: 1.5, 1: 1.0}, (Piece("w", 1000, 1.0),))
    >>> rows = estimate(profile, [1, 2, 8], ["star"], Network(Link(0.0, 4e3)), ["strong"])
    >>> fastest(rows).devices
    1
    """
    return max(rows, key=lambda row: (row.speed_up(way), -row.devices))
