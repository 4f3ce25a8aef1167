"""What the experiment is asked. No clock, no process here."""

from __future__ import annotations

from dataclasses import dataclass

from lockstep.errors import InputError
from lockstep.experiments.ways_to_split.division import most_parts
from lockstep.models.layers import Sequential
from lockstep.models.lenet import lenet
from lockstep.processes.splitting import check_num_devices
from lockstep.spec.checks import one_of, whole
from lockstep.spec.parts import POOLINGS, SOURCES
from lockstep.spec.run import PRECISIONS

ONE, DATA, WITHIN, LAYERS = "one device", "by data", "within layers", "by layers"
WAYS = (DATA, WITHIN, LAYERS)
# of the plain SGD that follows every gradient, so that each way walks a path: at larger rates two
# float32 runs with max-pooling part after some twenty steps, whatever one does
LR = 0.02


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

    devices: int = 2
    batch_size: int = 256
    micro_batches: int = 4
    pooling: str = "max"
    precision: str = "float32"
    steps: int = 20
    ways: tuple[str, ...] = WAYS
    data: str = ""
    seed: int = 0

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
