"""Measuring what a scaling forecast needs: steps of several batch sizes on one device, and steps on
several devices of this machine to hold it against.

How a run is carried out is given from outside: this room is on the left of training.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median
from typing import NamedTuple

from lockstep.errors import InputError, LockstepError
from lockstep.experiments.scaling.forecast import Check
from lockstep.experiments.scaling.model import Network, Profile, estimate, shard
from lockstep.spec import RunSpec

# carries out a run, with an event at every so many steps: seconds of a step, one for each event
Timer = Callable[[RunSpec, int], Sequence[float]]
Tell = Callable[[str], None]
PROBE_STEPS = 8  # of a first run, which says how many steps fit into the time
FEWEST, MOST = 12, 20_000  # steps of a run that counts
ROUNDS = 3  # runs of each job
NUM_CALLS = 6  # that each is cut into, for the median
SMALL_RATE = 1e-6  # a batch of one at the recipe's own rate may diverge


class Job(NamedTuple):
    """Steps of a run with another batch size: that of all its devices together."""

    spec: RunSpec
    batch_size: int


def measure_steps(
    jobs: Sequence[Job], timer: Timer, seconds: float, tell: Tell = lambda what: None
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
            tell(f"steps of {job.batch_size}{devices}")
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
    checks = []
    for row, job, found in zip(
        estimate(fresh, [devices], ["ring"], network), jobs[2:], measured, strict=True
    ):
        total, predicted = job.batch_size, dict(row.steps)
        checks.append(Check(row.scaling, devices, total, found, predicted, single, row.compute))
    return checks


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
