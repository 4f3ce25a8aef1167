"""What an allreduce benchmark is asked, and what it finds. No clock here."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Any

from lockstep.checks import one_of
from lockstep.errors import InputError
from lockstep.experiments.allreduce.algorithms import ALGORITHMS
from lockstep.experiments.allreduce.calibration import ITEMSIZE
from lockstep.experiments.allreduce.cost import Link
from lockstep.frameworks import environments
from lockstep.processes.splitting import check_num_devices

ENGINES = {"gloo": "torch", "xla": "jax"}  # the engines' own, and the framework that has each
# each with the engines to compare with
TRANSPORTS = {"processes": ("gloo", "xla"), "shared": ("gloo", "xla"), "local": ("xla",)}
_UNHELD = {"shared": "memory that processes share", "local": "one process"}  # by a bandwidth


def known_algorithms(transport: str) -> list[str]:
    """Every algorithm that a transport can be asked for.

    >>> known_algorithms("local")[-2:]
    ['halving_doubling', 'xla']
    """
    one_of("transport", transport, tuple(TRANSPORTS))
    return [*ALGORITHMS, *TRANSPORTS[transport]]


def usable_algorithms(transport: str) -> list[str]:
    """Those that can run on this machine: an engine needs its framework."""
    usable = environments.usable()
    return [name for name in known_algorithms(transport) if ENGINES.get(name, "numpy") in usable]


@dataclass(frozen=True)
class Bench:
    """What to measure: sizes in bytes of float32, numbers of devices, algorithms by name.

    `bandwidth`, in bytes per second, is the link that each device is given between processes.
    """

    sizes: tuple[int, ...] = (1_000_000, 64_000_000)
    devices: tuple[int, ...] = (2, 4, 8)
    algorithms: tuple[str, ...] = tuple(ALGORITHMS)
    transport: str = "processes"
    repeats: int = 10
    bandwidth: float = math.inf

    def __post_init__(self) -> None:
        known = known_algorithms(self.transport)
        for name in self.algorithms:
            one_of("algorithm", name, known)
        for size in self.sizes:
            if size < ITEMSIZE or size % ITEMSIZE:
                problem = f"is no whole number of float32, {ITEMSIZE} bytes each"
                raise InputError("size", size, problem, "Give a multiple of 4, such as 1MB.")
        for count in self.devices:
            check_num_devices(count)
        if self.repeats < 1:
            raise InputError("repeats", self.repeats, "measures nothing", "Give 1 or more.")
        engines = set(self.algorithms) & set(ENGINES)
        if math.isfinite(self.bandwidth) and (engines or self.transport != "processes"):
            what = ", ".join(sorted(engines)) or _UNHELD[self.transport]
            remedy = "Leave it out, or measure our own algorithms with the transport processes."
            raise InputError("bandwidth", self.bandwidth, f"cannot hold back {what}", remedy)

    @property
    def own(self) -> list[str]:
        """The algorithms that are plans of ours, which can be counted and predicted."""
        return [name for name in self.algorithms if name in ALGORITHMS]


def middle_half(times: Sequence[float]) -> tuple[float, float]:
    """The bounds of the middle half of the times.

    >>> middle_half((1.0, 2.0, 3.0, 4.0, 5.0)), middle_half((2.5,))
    ((2.0, 4.0), (2.5, 2.5))
    """
    if len(times) < 2:
        return times[0], times[0]
    low, _, high = quantiles(times, n=4, method="inclusive")
    return low, high


@dataclass(frozen=True)
class Measurement:
    """One algorithm on one size over one number of devices. `seconds` has one time per repeat, that
    of the slowest device; `sent` is the most that one device sent, in bytes, counted while it did.
    What an engine sends is not known."""

    size: int
    devices: int
    algorithm: str
    seconds: tuple[float, ...]
    sent: int | None = None
    rounds: int | None = None
    predicted: float | None = None

    @property
    def median(self) -> float:
        return median(self.seconds)

    @property
    def spread(self) -> tuple[float, float]:
        """The middle half of the times."""
        return middle_half(self.seconds)


@dataclass(frozen=True)
class Results:
    """All that was measured, with the link that each number of devices was found to have."""

    bench: Bench
    rows: tuple[Measurement, ...]
    links: dict[int, Link] = field(default_factory=dict)


class Times:
    """What workers tell, put in order: {"length", "algorithm", "repeat", "seconds", "sent",
    "rounds"} of one device each; a repeat below 0 is a warm-up and does not count."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)

    def add(self, message: dict[str, Any]) -> None:
        if message.get("repeat", -1) >= 0:
            self._told[message["algorithm"], message["length"]].append(message)

    def seconds(self, algorithm: str, length: int) -> tuple[float, ...]:
        """For each repeat the time of the slowest device: until then the sum is not everywhere."""
        slowest: dict[int, float] = {}
        for message in self._told[algorithm, length]:
            repeat = message["repeat"]
            slowest[repeat] = max(slowest.get(repeat, 0.0), message["seconds"])
        return tuple(seconds for _, seconds in sorted(slowest.items()))

    def largest(self, algorithm: str, length: int, what: str) -> int | None:
        """The largest of all devices; None where it was not counted."""
        values = [message[what] for message in self._told[algorithm, length]]
        return max((value for value in values if value is not None), default=None)
