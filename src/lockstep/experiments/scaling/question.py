"""What a scaling forecast can be asked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from lockstep.errors import InputError
from lockstep.experiments import option
from lockstep.experiments.allreduce import algorithms
from lockstep.experiments.allreduce.cost import Hosts, Link
from lockstep.experiments.scaling.step_time import Network, check_share
from lockstep.report.quantities import (
    parse_bandwidth,
    parse_device_counts,
    parse_duration,
    parse_list,
    parse_size,
)
from lockstep.spec import RunSpec


def _counts(text: str) -> tuple[int, ...]:
    return tuple(sorted({1, *parse_device_counts(text)}))  # all are compared with one


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.replace("-", "_") for name in parse_list(text, "algorithms"))
    if names == ("all",):
        return tuple(algorithms.ALGORITHMS)
    for name in names:
        algorithms.get(name)
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True)
class Question:
    """`spec`: the run whose step is measured, or the name of a model with published times."""

    spec: RunSpec | str
    bandwidth: float = option("25Gbit", "of a server's link", read=parse_bandwidth, metavar="RATE")
    latency: float = option("5us", "of a round of messages", read=parse_duration, metavar="TIME")
    host_bandwidth: float = option(
        "12GB",
        "of a device within its server, with --per-host",
        read=partial(parse_bandwidth, field="host-bandwidth"),
        metavar="RATE",
    )
    bucket: int = option(
        "25MB",
        "of the gradient that is exchanged at once",
        read=partial(parse_size, field="bucket"),
        metavar="SIZE",
    )
    algorithms: tuple[str, ...] = option(
        "all", "of the allreduce, by name", read=_names, metavar="LIST"
    )
    devices: tuple[int, ...] = option("1,2,4,8,64,512", "how many", read=_counts, metavar="LIST")
    per_host: int = option(1, "devices that share a server's link", metavar="N")
    seconds: float = option(1.0, "of steps for each batch size", metavar="S")
    backward: float = option(2 / 3, "of a step that is the backward pass", metavar="SHARE")
    threads: int = option(1, "of a device", metavar="N")
    no_check: bool = option(False, "do not train on several devices to compare")

    def __post_init__(self) -> None:
        check_share(self.backward)
        Hosts(self.per_host)
        if self.threads < 1:
            raise InputError("threads", self.threads, "must be at least 1", "Give 1 or more.")

    @property
    def network(self) -> Network:
        hosts = Hosts(self.per_host, self.host_bandwidth) if self.per_host != 1 else Hosts()
        return Network(Link(self.latency, self.bandwidth), hosts, self.bucket)
