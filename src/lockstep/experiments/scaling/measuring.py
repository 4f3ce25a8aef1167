"""The runs of a scaling forecast: steps of several batch sizes on one device, and steps on several
devices of this machine to compare it with."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from statistics import median
from typing import NamedTuple

from lockstep.errors import InputError, LockstepError
from lockstep.experiments.allreduce import measuring as allreduce
from lockstep.experiments.allreduce.question import Question as AllreduceQuestion
from lockstep.experiments.scaling.backward import first_batch_backward
from lockstep.experiments.scaling.overlap import Way
from lockstep.experiments.scaling.step_time import Network, Profile, estimate, shard
from lockstep.frameworks import registry
from lockstep.spec import RunSpec
from lockstep.training import Result
from lockstep.training.audience import Audience
from lockstep.training.carry_out import carry_out

# carries out a run, with an event at every so many steps: seconds of a step, one for each event
Timer = Callable[[RunSpec, int], Sequence[float]]
Report = Callable[[str], None]  # what was done
PROBE_STEPS = 8  # of a first run, which says how many steps fit into the time
FEWEST, MOST = 12, 20_000  # steps of a run that counts
ROUNDS = 3  # runs of each job
NUM_CALLS = 6  # that each is cut into, for the median
SMALL_RATE = 1e-6  # a batch of one at the recipe's own rate may diverge
REPEATS = 10  # of each probe of the link


@dataclass(frozen=True)
class Check:
    """A step on k devices of this machine, measured, and what the model says of each way of
    exchanging, with a link that was measured here too. `single` is one device's step with the
    recipe's batch size, `compute` with a device's share of the batch."""

    scaling: str
    devices: int
    batch_size: int  # of all devices together
    measured: float
    predicted: dict[Way, float]
    single: float
    compute: float

    @property
    def efficiency(self) -> float:
        """As measured: weak, single / step_k; strong, single / (k step_k)."""
        return self.single / (self.measured * (1 if self.scaling == "weak" else self.devices))


class Job(NamedTuple):
    """Steps of a run with another batch size: that of all its devices together."""

    spec: RunSpec
    batch_size: int


def measure_steps(
    jobs: Sequence[Job], timer: Timer, seconds: float, report: Report = lambda what: None
) -> list[float]:
    """Seconds of one update of each job: the median run's median call, compilation apart.
    Every job takes its turn ROUNDS times, for about `seconds` together, so that what disturbs the
    machine disturbs all of them alike.

    >>> from lockstep import recipes
    >>> job = Job(recipes.airfoil_linear(), 10)
    >>> measure_steps([job], lambda spec, every: [1e-3, 2e-3, 9e-3], 1.0)
    [0.002]
    """
    if not seconds > 0:
        raise InputError("seconds", seconds, "measures nothing", "Give more than 0, such as 1.")
    counts: list[int] = []
    times: list[list[float]] = [[] for _ in jobs]
    for turn in range(ROUNDS):
        for place, job in enumerate(jobs):
            if turn == 0:
                probe = median(_times(job, PROBE_STEPS, PROBE_STEPS // 2, timer))
                wanted = seconds / ROUNDS / max(probe, 1e-9)
                counts.append(int(min(MOST, max(FEWEST, wanted))))
            every = -(-counts[place] // NUM_CALLS)
            times[place].append(median(_times(job, counts[place], every, timer)))
            devices = "" if job.spec.devices == 1 else f" on {job.spec.devices} devices"
            report(f"steps of {job.batch_size}{devices}")
    return [median(found) for found in times]


def check_here(
    spec: RunSpec,
    profile: Profile,
    devices: int,
    network: Network,
    measure: Callable[[Sequence[Job]], Sequence[float]],
) -> list[Check]:
    """Weak and strong scaling on k devices of this machine, measured in turns with one device;
    predicted for a ring over `network`."""
    b, share = profile.batch_size, shard(profile.batch_size, devices)
    several = replace(spec, devices=devices)
    jobs = [Job(spec, b), Job(spec, share), Job(several, devices * b), Job(several, b)]
    single, shared, *measured = measure(jobs)
    fresh = replace(profile, seconds={share: shared, b: single})
    rows = estimate(fresh, [devices], ["ring"], network)
    return [
        Check(row.scaling, devices, job.batch_size, found, dict(row.steps), single, row.compute)
        for row, job, found in zip(rows, jobs[2:], measured, strict=True)
    ]


def _times(job: Job, num_steps: int, event_steps: int, timer: Timer) -> Sequence[float]:
    times = timer(_short(job, num_steps), event_steps)
    if not len(times):
        raise LockstepError(f"batch_size = {job.batch_size}: the run ended before its first steps.")
    return times


def _short(job: Job, num_steps: int) -> RunSpec:
    """Nothing but so many steps: no evaluation, no checkpoint under way."""
    short = replace(
        job.spec,
        batch_size=job.batch_size,
        max_steps=num_steps,
        epochs=num_steps,
        evaluate=(),
        checkpoint_steps=0,
    )
    return short.with_lr(SMALL_RATE)


# --- runs of a recipe -----------------------------------------------------------------------------


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Frameworks that are imported or started inside compute with so many threads."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = str(count)
    try:
        yield
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before


def measure_profile(
    spec: RunSpec, sizes: Sequence[int], seconds: float, backward: float, report: Report
) -> Profile:
    """A step at every batch size, and the gradient with its order of completion."""
    results: list[Result] = []
    found = measure_steps([Job(spec, size) for size in sizes], _timer(results), seconds, report)
    pieces = first_batch_backward(results[0])
    report("the backward pass")
    times = dict(zip(sizes, found, strict=True))
    itemsize = int(spec.precision.removeprefix("float")) // 8
    return Profile(spec.name, spec.batch_size, times, pieces, backward, itemsize)


def check_devices(
    spec: RunSpec,
    profile: Profile,
    counts: Sequence[int],
    bucket: int,
    seconds: float,
    report: Report,
) -> tuple[list[Check], dict[int, Network]]:
    """Steps on several devices of this machine, and the networks they were predicted with."""
    transport = "processes" if registry.devices_are_processes(spec.framework) else "local"
    size = max(4, profile.size)
    asked = AllreduceQuestion((size,), tuple(counts), ("ring",), transport, REPEATS)
    links = allreduce.run(asked).links
    networks = {count: Network(link, bucket=bucket) for count, link in links.items()}
    report("the link of this machine")

    measure = partial(measure_steps, timer=_timer([]), seconds=seconds, report=report)
    checks = [check_here(spec, profile, k, network, measure) for k, network in networks.items()]
    return list(chain.from_iterable(checks)), networks


def _timer(results: list[Result]) -> Timer:
    def timer(spec: RunSpec, event_steps: int) -> list[float]:
        result = carry_out(spec, None, None, Audience(event_steps=event_steps))
        results.append(result)
        return [1 / rate for rate in result.history.step_rates()]

    return timer
