"""A scaling forecast: from measured or published times, with what was measured to compare it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from lockstep.errors import LockstepError
from lockstep.experiments import Progress, no_progress
from lockstep.experiments.scaling import measuring
from lockstep.experiments.scaling.architectures import ONE_GPU, profile_of
from lockstep.experiments.scaling.measuring import Check
from lockstep.experiments.scaling.question import Question
from lockstep.experiments.scaling.step_time import Network, Profile, Row, batch_sizes, estimate
from lockstep.spec import RunSpec


@dataclass(frozen=True)
class Forecast:
    """All that is known of one model: its profile and where that is from, what it will take, and
    what was measured on several devices here, with the network found between them."""

    profile: Profile
    source: str
    network: Network
    rows: tuple[Row, ...]
    checks: tuple[Check, ...] = ()
    here: Mapping[int, Network] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a program to read; times in seconds, sizes in bytes."""
        profile, links = self.profile, {str(k): asdict(net.link) for k, net in self.here.items()}
        return {
            "name": profile.name,
            "source": self.source,
            "batch_size": profile.batch_size,
            "seconds": {str(size): seconds for size, seconds in profile.seconds.items()},
            "backward": profile.backward,
            "gradient": profile.size,
            "pieces": [piece._asdict() for piece in profile.pieces],
            "network": asdict(self.network),
            "rows": [_row_values(row) for row in self.rows],
            "checks": [_check_values(check) for check in self.checks],
            "links_here": links,
            "notes": list(self.notes),
        }


def _row_values(row: Row) -> dict[str, Any]:
    ways = {
        way.name: {"step": step, "speed_up": row.speed_up(way), "efficiency": row.efficiency(way)}
        for way, step in row.steps.items()
    }
    names = ("scaling", "devices", "algorithm", "batch_size", "compute", "exchange")
    return {name: getattr(row, name) for name in names} | {"ways": ways}


def _check_values(check: Check) -> dict[str, Any]:
    values = {**asdict(replace(check, predicted={})), "efficiency": check.efficiency}
    return values | {"predicted": {way.name: s for way, s in check.predicted.items()}}


# --- where its times are from ---------------------------------------------------------------------


def run(asked: Question, progress: Progress = no_progress) -> Forecast:
    """Forecast from a measured step of the run, or from a published one."""
    if isinstance(asked.spec, str):
        return _published(asked, asked.spec)
    return _measured(asked, asked.spec, progress)


def _measured(asked: Question, spec: RunSpec, progress: Progress) -> Forecast:
    sizes = batch_sizes(spec.batch_size, asked.devices)
    several = [k for k in asked.devices if 1 < k <= (os.cpu_count() or 1) and not asked.no_check]
    total = measuring.ROUNDS * (len(sizes) + 4 * len(several)) + 1 + bool(several)
    done = 0

    def report(what: str) -> None:
        nonlocal done
        done += 1
        progress(min(1.0, done / total), what)

    checks: list[Check] = []
    here: dict[int, Network] = {}
    notes: list[str] = []
    with measuring.threads(asked.threads):
        profile = measuring.measure_profile(spec, sizes, asked.seconds, asked.backward, report)
        try:
            if several:
                checks, here = measuring.check_devices(
                    spec, profile, several, asked.bucket, asked.seconds, report
                )
        except LockstepError as error:  # the forecast holds without it
            notes.append(f"not checked on {several} devices here: {error}")
    rows = estimate(profile, asked.devices, asked.algorithms, asked.network)
    source = f"measured in {spec.framework}, {spec.style}, threads of a device: {asked.threads}"
    return Forecast(profile, source, asked.network, tuple(rows), tuple(checks), here, tuple(notes))


def _published(asked: Question, model: str) -> Forecast:
    profile = profile_of(model, ONE_GPU[model])
    rows = estimate(profile, asked.devices, asked.algorithms, asked.network, ["weak"])
    source = f"{ONE_GPU[model]} images/s on one Pascal GPU, as Horovod published"
    note = "strong scaling is left out: one GPU's time is published for one batch size only"
    return Forecast(profile, source, asked.network, tuple(rows), notes=(note,))
