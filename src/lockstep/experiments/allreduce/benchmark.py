"""How long an allreduce takes here: every algorithm on the same buffers, in turns, its sum checked,
and beside it what the latency-bandwidth model predicts from probes of the same run."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from lockstep.errors import InputError, LockstepError
from lockstep.experiments.allreduce import local_timing
from lockstep.experiments.allreduce.algorithms import ALGORITHMS
from lockstep.experiments.allreduce.calibration import ITEMSIZE, PROBES, fit
from lockstep.experiments.allreduce.cost import Link, predict
from lockstep.experiments.allreduce.measurements import Bench, Measurement, Results, Times
from lockstep.frameworks import environments
from lockstep.processes import shared_memory
from lockstep.processes.children import Command, Workers

SILENCE = 120.0  # seconds in which every worker must tell something
TIMEOUT = 3600.0  # seconds for one number of devices

Job = tuple[int, list[str]]  # a length, and what is measured on it in turns
Told = Generator[tuple[int, dict[str, Any]], None, None]  # by which worker, and what
Progress = Callable[[str, int, int], None]  # what was measured, how many are done, of how many


def run_bench(bench: Bench, progress: Progress = lambda what, done, total: None) -> Results:
    """Measure everything that is asked for, one number of devices after another."""
    if bench.transport == "shared" and not shared_memory.is_possible():
        problem = f"needs {shared_memory.FOLDER} and an x86-64 processor"
        remedy = "Use the transport processes or local."
        raise InputError("transport", bench.transport, problem, remedy)
    rows: list[Measurement] = []
    links: dict[int, Link] = {}
    total = sum(_count(bench, devices) for devices in bench.devices)
    done = 0
    for devices in bench.devices:
        times = Times()
        for measure in (_own, _xla):
            with closing(measure(bench, devices)) as told:  # closing it ends its workers
                for index, message in told:
                    times.add(message)
                    if index == 0 and "algorithm" in message:
                        done += 1
                        progress(f"{devices} devices: {message['algorithm']}", done, total)
        if probes := _probes(bench, devices):
            names = [(name, length) for length, names in probes for name in names]
            links[devices] = fit(devices, {name: times.seconds(name, n) for name, n in names})
        for size in bench.sizes:
            for name in bench.algorithms:
                rows.append(_row(bench, size, devices, name, times, links.get(devices)))
    return Results(bench, tuple(sorted(rows, key=lambda row: bench.sizes.index(row.size))), links)


def _probes(bench: Bench, devices: int) -> list[Job]:
    if devices == 1 or not bench.own:
        return []
    lengths = sorted({probe.length for probe in PROBES.values()})
    return [(n, [name for name, probe in PROBES.items() if probe.length == n]) for n in lengths]


def _count(bench: Bench, devices: int) -> int:
    probes = sum(len(names) for _, names in _probes(bench, devices))
    return (bench.repeats + 1) * (probes + len(bench.sizes) * len(bench.algorithms))


def _row(
    bench: Bench, size: int, devices: int, name: str, times: Times, link: Link | None
) -> Measurement:
    length = size // ITEMSIZE
    seconds = times.seconds(name, length)
    if len(seconds) != bench.repeats:
        raise LockstepError(
            f"algorithm = {name!r}: told {len(seconds)} of {bench.repeats} repeats."
        )
    predicted = None
    if link is not None and name in ALGORITHMS:
        held = replace(link, bandwidth=min(link.bandwidth, bench.bandwidth))
        predicted = predict(ALGORITHMS[name](devices, length), ITEMSIZE, held)
    sent, rounds = (times.largest(name, length, what) for what in ("sent", "rounds"))
    return Measurement(size, devices, name, seconds, sent, rounds, predicted)


# --- who measures ---------------------------------------------------------------------------------


def _own(bench: Bench, devices: int) -> Told:
    """Everything but XLA's, in this process or between processes."""
    names = [name for name in bench.algorithms if name != "xla"]
    jobs = _probes(bench, devices) + [(size // ITEMSIZE, names) for size in bench.sizes if names]
    if not jobs:
        return
    if bench.transport == "local":
        for message in local_timing.messages(devices, jobs, bench.repeats):
            yield 0, message
        return
    python = environments.interpreter("torch")
    job: dict[str, Any] = {
        "world_size": devices,
        "transport": bench.transport,
        "silence": SILENCE,
        "repeats": bench.repeats,
        "bandwidth": bench.bandwidth if math.isfinite(bench.bandwidth) else None,
        "jobs": jobs,
    }
    with tempfile.TemporaryDirectory(prefix="lockstep-") as folder:
        job["store"] = str(Path(folder) / "store")
        module = "lockstep.experiments.allreduce.timing_worker"
        commands = [
            Command(f"rank {rank} of {devices}", python, module, {"rank": rank, **job})
            for rank in range(devices)
        ]
        yield from _hear(commands, Path(folder))


def _xla(bench: Bench, devices: int) -> Told:
    if "xla" not in bench.algorithms:
        return
    lengths = [size // ITEMSIZE for size in bench.sizes]
    job = {"world_size": devices, "repeats": bench.repeats, "lengths": lengths}
    command = Command(
        "xla", environments.interpreter("jax"), "lockstep.experiments.allreduce.xla", job
    )
    with tempfile.TemporaryDirectory(prefix="lockstep-") as folder:
        yield from _hear([command], Path(folder))


def _hear(commands: Sequence[Command], folder: Path) -> Told:
    with Workers(commands, folder) as workers:
        yield from workers.messages(SILENCE, TIMEOUT)
