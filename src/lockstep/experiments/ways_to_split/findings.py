"""What the experiment found: each way's time, and what each device had, sent and waited for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from lockstep.data.examples import Origin
from lockstep.experiments.ways_to_split.question import LAYERS, Question
from lockstep.ops import Arrays
from lockstep.report.quantities import middle_half


@dataclass(frozen=True)
class DeviceFacts:
    """One device of one way, per step: `holds` names its part of the model, `parameters` counts
    numbers, `activations` and `sent` bytes; `busy` has the seconds not spent waiting of each step.
    """

    holds: str
    parameters: int
    activations: int
    sent: int
    messages: int
    busy: tuple[float, ...]


@dataclass(frozen=True)
class WayFacts:
    """One way. `seconds` has one time per step, that of the slowest device; `deviation` is of the
    first gradient from one device's, `path_deviation` of the weights after the last step."""

    way: str
    seconds: tuple[float, ...]
    losses: tuple[float, ...]
    devices: tuple[DeviceFacts, ...]
    deviation: float
    path_deviation: float
    gradient: Arrays

    @property
    def median(self) -> float:
        return median(self.seconds)

    @property
    def spread(self) -> tuple[float, float]:
        """The middle half of the times."""
        return middle_half(self.seconds)

    @property
    def idle(self) -> float:
        """1 - (seconds that devices were busy) / (k times those of the step), the median of steps:
        waiting for messages, and for the slowest device."""
        busy = zip(*(device.busy for device in self.devices), strict=True)
        pairs = zip(busy, self.seconds, strict=True)
        return median(1 - sum(each) / (len(each) * whole) for each, whole in pairs)


@dataclass(frozen=True)
class Work:
    """A micro-batch in one stage of the pipeline: seconds since the step began."""

    rank: int
    direction: str  # forward or backward
    micro_batch: int
    begin: float
    end: float


@dataclass(frozen=True)
class Results:
    """All that was found; `timeline` is a step of the pipeline of about the median time."""

    question: Question
    origin: Origin
    ways: tuple[WayFacts, ...]
    timeline: tuple[Work, ...] = ()

    @property
    def title(self) -> str:
        """What was trained, on how much."""
        asked = self.question
        images = "generated images" if self.origin.generated else "Fashion-MNIST"
        return (
            f"LeNet ({asked.pooling}) over {asked.devices} devices, batches of {asked.batch_size} "
            f"of {images}, {asked.precision}"
        )

    @property
    def bubble(self) -> float | None:
        """What the formula says of the pipeline's idle share; None without a pipeline."""
        asked = self.question
        return bubble(asked.devices, asked.micro_batches) if LAYERS in asked.ways else None

    @property
    def bubble_of_stages(self) -> float | None:
        """The same, from the time that each stage was busy."""
        if LAYERS not in self.question.ways:
            return None
        busy = [median(device.busy) for device in self[LAYERS].devices]
        return bubble_of_stages(busy, self.question.micro_batches)

    def __getitem__(self, way: str) -> WayFacts:
        return next(found for found in self.ways if found.way == way)


def bubble(num_devices: int, micro_batches: int) -> float:
    """(k - 1) / (m + k - 1): the share of the time in which a device of a pipeline with k equal
    stages and m micro-batches has nothing to do, forward and backward.

    >>> bubble(2, 4), bubble(4, 1), bubble(1, 8)
    (0.2, 0.75, 0.0)
    """
    return (num_devices - 1) / (micro_batches + num_devices - 1)


def bubble_of_stages(seconds: Sequence[float], micro_batches: int) -> float:
    """The same for stages that take different times t_i for a batch: 1 - sum(t_i) / (k T), where
    T = (sum(t_i) + (m - 1) max(t_i)) / m; the first micro-batch passes all stages, the others
    follow at the pace of the slowest.

    >>> round(bubble_of_stages([2.0, 2.0], 4), 3), round(bubble_of_stages([3.0, 1.0], 4), 3)
    (0.2, 0.385)
    """
    total, slowest = sum(seconds), max(seconds)
    whole = (total + (micro_batches - 1) * slowest) / micro_batches
    return 1 - total / (len(seconds) * whole) if whole else 0.0


def largest_deviation(arrays: Arrays, reference: Arrays) -> float:
    """The largest over weights of max |a - b| / max |b|.

    >>> b = {"w": np.array([1.0, -4.0]), "b": np.array([2.0])}
    >>> largest_deviation({"w": np.array([1.0, -4.0]), "b": np.array([2.5])}, b)
    0.25
    """
    return max(
        float(np.abs(arrays[name] - value).max() / (np.abs(value).max() or 1.0))
        for name, value in reference.items()
    )


def path_deviation(arrays: Arrays, reference: Arrays) -> float:
    """max |a - b| over all weights / max |b| over all: biases that have hardly left zero are no
    measure of their own.

    >>> b = {"w": np.array([1.0, -4.0]), "b": np.array([2.0])}
    >>> path_deviation({"w": np.array([1.0, -4.0]), "b": np.array([2.5])}, b)
    0.125
    """
    largest = max(float(np.abs(value).max()) for value in reference.values())
    return max(
        float(np.abs(arrays[name] - value).max()) / (largest or 1.0)
        for name, value in reference.items()
    )
