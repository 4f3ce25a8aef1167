"""All that a scaling forecast says, and what was measured to hold it against. Records only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from lockstep.experiments.scaling.model import Network, Profile, Row
from lockstep.experiments.scaling.overlap import Way


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
    predicted = {way.name: seconds for way, seconds in check.predicted.items()}
    return {**asdict(replace(check, predicted={})), "efficiency": check.efficiency} | {
        "predicted": predicted
    }
