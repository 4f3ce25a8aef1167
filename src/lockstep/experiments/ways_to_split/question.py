"""What the experiment can be asked, and in which order the ways have their steps. No clock, no
process here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lockstep.checks import one_of, whole
from lockstep.errors import InputError, unknown
from lockstep.experiments import option
from lockstep.experiments.ways_to_split.division import most_parts
from lockstep.models.layers import Sequential
from lockstep.models.lenet import lenet
from lockstep.processes.splitting import check_num_devices
from lockstep.report.quantities import parse_list
from lockstep.spec.data_parts import SOURCES
from lockstep.spec.parts import POOLINGS
from lockstep.spec.run import PRECISIONS

ONE, DATA, WITHIN, LAYERS = "one device", "by data", "within layers", "by layers"
WAYS = (DATA, WITHIN, LAYERS)
# of the plain SGD that follows every gradient, so that weights are compared too: at larger rates
# two float32 runs with max-pooling differ after some twenty steps, by rounding alone
LR = 0.02
NAMES = {"data": DATA, "within": WITHIN, "layers": LAYERS}  # of the ways, as options
# timed steps in a row: what another way left in memory and caches would otherwise count, as a fifth
# of one device's time
BLOCK = 10


def _ways(text: str) -> tuple[str, ...]:
    names = parse_list(text, "ways")
    for name in names:
        if name not in NAMES and name != "all":
            raise unknown("ways", name, [*NAMES, "all"])
    return WAYS if "all" in names else tuple(NAMES[name] for name in names)


@dataclass(frozen=True)
class Question:
    """LeNet with `pooling`, batches of `batch_size` (global), `steps` updates by each of `ways`.

    `data`: real or generated images; "" takes real ones if this machine has them.

    >>> Question(devices=8)
    Traceback (most recent call last):
        ...
    lockstep.errors.InputError: devices = 8: conv1 has no more than 6 parts, to divide within \
layers. Give at most 6.
    """

    devices: int = option(2, "how many", metavar="K")
    batch_size: int = option(256, "of all", metavar="N")
    micro_batches: int = option(4, "parts of a batch in the pipeline", metavar="M")
    pooling: str = option("max", "LeNet's form: max or avg", metavar="NAME")
    precision: str = option("float32", "float32 or float64", metavar="NAME")
    steps: int = option(20, "of each way", metavar="N")
    ways: tuple[str, ...] = option("all", f"{', '.join(NAMES)} or all", read=_ways, metavar="LIST")
    data: str = option(
        "", "real or generated images (default: real if they are on this machine)", metavar="NAME"
    )
    seed: int = option(0, "of weights and batches", metavar="N")

    def __post_init__(self) -> None:
        check_num_devices(self.devices)
        for field in ("batch_size", "micro_batches", "steps"):
            whole(field, getattr(self, field))
        one_of("pooling", self.pooling, POOLINGS)
        one_of("precision", self.precision, PRECISIONS)
        for way in self.ways:
            one_of("ways", way, WAYS)
        if self.data:
            one_of("data", self.data, SOURCES)
        self._check_limits()

    @property
    def model(self) -> Sequential:
        return lenet(self.pooling)

    def _check_limits(self) -> None:
        """Each device must have something to do."""
        if WITHIN in self.ways:
            layer, limit = most_parts(self.model)
            if self.devices > limit:
                problem = f"{layer} has no more than {limit} parts, to divide within layers"
                raise InputError("devices", self.devices, problem, f"Give at most {limit}.")
        if LAYERS in self.ways:
            limit = len(self.model.blocks)
            if self.devices > limit:
                problem = f"the model has {limit} layers, to divide by layers"
                raise InputError("devices", self.devices, problem, f"Give at most {limit}.")
            if self.micro_batches > self.batch_size:
                problem = f"a batch of {self.batch_size} has not so many parts"
                remedy = f"Give at most {self.batch_size}."
                raise InputError("micro_batches", self.micro_batches, problem, remedy)


def file_name(what: str, way: str, rank: int) -> str:
    """The file of a device's part of something, beside its log.

    >>> file_name("gradient", "by data", 1)
    'gradient-by-data-1.npz'
    """
    return f"{what}-{way.replace(' ', '-')}-{rank}.npz"


# --- turns ----------------------------------------------------------------------------------------


class Turn(NamedTuple):
    """The `step`-th update of a way, from 0, which is its batch too; `repeat` numbers those that
    are timed, and is -1 for one that warms up."""

    way: str
    step: int
    repeat: int


def turns(ways: Sequence[str], steps: int) -> Iterator[Turn]:
    """One step of each way, then blocks of timed steps in turns, each after one more to warm up and
    each round beginning with another way: what disturbs the machine disturbs all alike.

    >>> [(turn.way, turn.repeat) for turn in turns(["a", "b"], 2)]
    [('a', -1), ('b', -1), ('a', -1), ('a', 0), ('a', 1), ('b', -1), ('b', 0), ('b', 1)]
    """
    for way in ways:
        yield Turn(way, 0, -1)
    for number, begin in enumerate(range(0, steps, BLOCK)):
        shift = number % max(1, len(ways))
        for way in [*ways[shift:], *ways[:shift]]:
            yield Turn(way, begin + number + 1, -1)
            for repeat in range(begin, min(begin + BLOCK, steps)):
                yield Turn(way, repeat + number + 2, repeat)


def num_updates(steps: int) -> int:
    """How many updates each way makes: the timed ones, and those that warm up.

    >>> num_updates(2), num_updates(20), num_updates(21)
    (4, 23, 25)
    """
    return steps + 1 + -(-steps // BLOCK)
