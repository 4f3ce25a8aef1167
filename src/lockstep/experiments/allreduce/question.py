"""What an allreduce benchmark can be asked. No clock, no process here."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lockstep.checks import one_of
from lockstep.errors import InputError
from lockstep.experiments import option
from lockstep.experiments.allreduce.algorithms import ALGORITHMS
from lockstep.experiments.allreduce.cost import ITEMSIZE
from lockstep.frameworks import environments
from lockstep.processes.splitting import check_num_devices
from lockstep.report.quantities import parse_bandwidth, parse_device_counts, parse_list, parse_size

ALL = ("all",)
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


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(parse_size(word) for word in parse_list(text, "size")))


def _names(text: str) -> tuple[str, ...]:
    names = parse_list(text, "algorithms")
    return tuple(dict.fromkeys(name.replace("-", "_") for name in names))


@dataclass(frozen=True)
class Question:
    """What to measure: sizes in bytes of float32, numbers of devices, algorithms by name.

    `bandwidth`, in bytes per second, is the link that each device is given between processes.
    """

    sizes: tuple[int, ...] = option(
        "1MB,64MB", "of the buffer", read=_sizes, metavar="LIST", flag="size"
    )
    devices: tuple[int, ...] = option("2,4,8", "how many", read=parse_device_counts, metavar="LIST")
    algorithms: tuple[str, ...] = option("all", "by name, or all", read=_names, metavar="LIST")
    transport: str = option(
        "processes",
        "processes: each device is a process, by torch.distributed; shared: the same, through "
        "memory that they share; local: each device is a thread of one process",
        metavar="NAME",
    )
    repeats: int = option(10, "of each", metavar="N")
    bandwidth: float = option(
        "",
        "give each device a link of its own, such as 10Gbit (transport processes)",
        read=lambda text: parse_bandwidth(text) if text else math.inf,
        metavar="RATE",
    )

    def __post_init__(self) -> None:
        known = known_algorithms(self.transport)
        for name in self.algorithms if self.algorithms != ALL else ():
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

    def settled(self) -> Question:
        """The same with the names of the algorithms that `all` means here."""
        if self.algorithms != ALL:
            return self
        left_out = [line.split()[0] for line in self.left_out()]
        known = known_algorithms(self.transport)
        return replace(self, algorithms=tuple(name for name in known if name not in left_out))

    def left_out(self) -> Iterator[str]:
        """A line for everything that `all` leaves out, which begins with its name."""
        usable = environments.usable()
        for name in TRANSPORTS[self.transport] if self.algorithms == ALL else ():
            if ENGINES[name] not in usable:
                yield f"{name} is left out: {ENGINES[name]} is not installed"
            elif math.isfinite(self.bandwidth):
                yield f"{name} is left out: it cannot be given a bandwidth"

    @property
    def own(self) -> list[str]:
        """The algorithms that are plans of ours, which can be counted and predicted."""
        return [name for name in self.algorithms if name in ALGORITHMS]
