"""How long an allreduce takes here, and what was found.

Every algorithm runs on the same buffers, in turns, and its sum is checked; beside its time stands
what the latency-bandwidth model predicts from probes of the same run.
"""

from __future__ import annotations

import math
import tempfile
from collections import defaultdict
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from lockstep.errors import InputError, LockstepError
from lockstep.experiments import Progress, no_progress
from lockstep.experiments.allreduce.algorithms import ALGORITHMS
from lockstep.experiments.allreduce.cost import ITEMSIZE, PROBES, Link, fit, predict
from lockstep.experiments.allreduce.question import Question
from lockstep.experiments.allreduce.timing import time_threads
from lockstep.frameworks import environments
from lockstep.processes import shared_memory
from lockstep.processes.children import Command, Workers
from lockstep.report.quantities import middle_half

SILENCE = 120.0  # seconds in which every worker must report something
TIMEOUT = 3600.0  # seconds for one number of devices

Job = tuple[int, list[str]]  # a length, and what is measured on it in turns
Messages = Generator[tuple[int, dict[str, Any]], None, None]  # from which worker, and what


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

    question: Question
    rows: tuple[Measurement, ...]
    links: dict[int, Link] = field(default_factory=dict)


class Times:
    """What workers report, in order: {"length", "algorithm", "repeat", "seconds", "sent",
    "rounds"} of one device each; a repeat below 0 is a warm-up and does not count."""

    def __init__(self) -> None:
        self._messages: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)

    def add(self, message: dict[str, Any]) -> None:
        if message.get("repeat", -1) >= 0:
            self._messages[message["algorithm"], message["length"]].append(message)

    def seconds(self, algorithm: str, length: int) -> tuple[float, ...]:
        """For each repeat the time of the slowest device: until then the sum is not everywhere."""
        slowest: dict[int, float] = {}
        for message in self._messages[algorithm, length]:
            repeat = message["repeat"]
            slowest[repeat] = max(slowest.get(repeat, 0.0), message["seconds"])
        return tuple(seconds for _, seconds in sorted(slowest.items()))

    def largest(self, algorithm: str, length: int, what: str) -> int | None:
        """The largest of all devices; None where it was not counted."""
        values = [message[what] for message in self._messages[algorithm, length]]
        return max((value for value in values if value is not None), default=None)


# --- measuring ------------------------------------------------------------------------------------


def run(question: Question, progress: Progress = no_progress) -> Results:
    """Measure everything that is asked for, one number of devices after another."""
    question = question.settled()
    if question.transport == "shared" and not shared_memory.is_possible():
        problem = f"needs {shared_memory.FOLDER} and an x86-64 processor"
        remedy = "Use the transport processes or local."
        raise InputError("transport", question.transport, problem, remedy)
    rows: list[Measurement] = []
    links: dict[int, Link] = {}
    total = sum(_count(question, devices) for devices in question.devices)
    done = 0
    for devices in question.devices:
        times = Times()
        for measure in (_own, _xla):
            with closing(measure(question, devices)) as messages:  # closing it ends its workers
                for index, message in messages:
                    times.add(message)
                    if index == 0 and "algorithm" in message:
                        done += 1
                        progress(done / total, f"{devices} devices: {message['algorithm']}")
        if probes := _probes(question, devices):
            names = [(name, length) for length, names in probes for name in names]
            links[devices] = fit(devices, {name: times.seconds(name, n) for name, n in names})
        for size in question.sizes:
            for name in question.algorithms:
                rows.append(_row(question, size, devices, name, times, links.get(devices)))
    return Results(
        question, tuple(sorted(rows, key=lambda row: question.sizes.index(row.size))), links
    )


def _probes(question: Question, devices: int) -> list[Job]:
    if devices == 1 or not question.own:
        return []
    lengths = sorted({probe.length for probe in PROBES.values()})
    return [(n, [name for name, probe in PROBES.items() if probe.length == n]) for n in lengths]


def _count(question: Question, devices: int) -> int:
    probes = sum(len(names) for _, names in _probes(question, devices))
    return (question.repeats + 1) * (probes + len(question.sizes) * len(question.algorithms))


def _row(
    question: Question, size: int, devices: int, name: str, times: Times, link: Link | None
) -> Measurement:
    length = size // ITEMSIZE
    seconds = times.seconds(name, length)
    if len(seconds) != question.repeats:
        raise LockstepError(
            f"algorithm = {name!r}: reported {len(seconds)} of {question.repeats} repeats."
        )
    predicted = None
    if link is not None and name in ALGORITHMS:
        held = replace(link, bandwidth=min(link.bandwidth, question.bandwidth))
        predicted = predict(ALGORITHMS[name](devices, length), ITEMSIZE, held)
    sent, rounds = (times.largest(name, length, what) for what in ("sent", "rounds"))
    return Measurement(size, devices, name, seconds, sent, rounds, predicted)


# --- who measures ---------------------------------------------------------------------------------


def _own(question: Question, devices: int) -> Messages:
    """Everything but XLA's, in this process or between processes."""
    names = [name for name in question.algorithms if name != "xla"]
    jobs = _probes(question, devices) + [
        (size // ITEMSIZE, names) for size in question.sizes if names
    ]
    if not jobs:
        return
    if question.transport == "local":
        for message in time_threads(devices, jobs, question.repeats):
            yield 0, message
        return
    python = environments.interpreter("torch")
    job: dict[str, Any] = {
        "world_size": devices,
        "transport": question.transport,
        "silence": SILENCE,
        "repeats": question.repeats,
        "bandwidth": question.bandwidth if math.isfinite(question.bandwidth) else None,
        "jobs": jobs,
    }
    with tempfile.TemporaryDirectory(prefix="lockstep-") as folder:
        job["store"] = str(Path(folder) / "store")
        module = "lockstep.experiments.allreduce.timing_worker"
        commands = [
            Command(f"rank {rank} of {devices}", python, module, {"rank": rank, **job})
            for rank in range(devices)
        ]
        yield from _messages(commands, Path(folder))


def _xla(question: Question, devices: int) -> Messages:
    if "xla" not in question.algorithms:
        return
    lengths = [size // ITEMSIZE for size in question.sizes]
    job = {"world_size": devices, "repeats": question.repeats, "lengths": lengths}
    command = Command(
        "xla", environments.interpreter("jax"), "lockstep.experiments.allreduce.xla", job
    )
    with tempfile.TemporaryDirectory(prefix="lockstep-") as folder:
        yield from _messages([command], Path(folder))


def _messages(commands: Sequence[Command], folder: Path) -> Messages:
    with Workers(commands, folder) as workers:
        yield from workers.messages(SILENCE, TIMEOUT)
