"""RunSpec: one run, completely described. Frozen, validated, with a content hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lockstep.schedules import ReduceOnPlateau, Schedule
from lockstep.spec import convert
from lockstep.spec.checks import folder_name, listed, one_of, part_of, store, truth, whole
from lockstep.spec.parts import DataPart, ModelPart, OptimizerPart

STYLES = ("scratch", "concise")
PRECISIONS = ("float32", "float64")
UNITS = ("step", "epoch")
SPLITS = ("train", "test")
MOST_DEVICES = 4096
MOST_THREADS = 4096
# fields that came after hashes were in use: at their default they leave a run's hash as it was
ADDED = ("threads",)


@dataclass(frozen=True)
class RunSpec:
    """Data, model, batch size, optimizer, schedule, framework, devices and seed of one run.

    `batch_size` is that of all `devices` together. `max_steps` 0 means no limit but `epochs`.
    `evaluate` names the splits measured after every `evaluate_epochs` epochs and at the end.
    `checkpoint_steps` 0 means after an epoch, at most every ten seconds, and at the end. `fused`
    allows an adapter's faster equal of a model part. `threads` is how many each process computes
    with; 0 leaves that to the framework.
    """

    name: str
    data: DataPart
    model: ModelPart
    optimizer: OptimizerPart
    schedule: Schedule | ReduceOnPlateau
    schedule_per: str = "step"
    batch_size: int = 32
    epochs: int = 1
    max_steps: int = 0
    seed: int = 0
    framework: str = "numpy"
    devices: int = 1
    style: str = "scratch"
    precision: str = "float32"
    fused: bool = True
    evaluate: tuple[str, ...] = ()
    evaluate_epochs: int = 1
    checkpoint_steps: int = 0
    threads: int = 0

    def __post_init__(self) -> None:
        folder_name("name", self.name)
        folder_name("framework", self.framework)
        for field, kinds in convert.PARTS.items():
            part_of(field, getattr(self, field), kinds)
        part_of("schedule", self.schedule, convert.KINDS)
        one_of("style", self.style, STYLES)
        one_of("precision", self.precision, PRECISIONS)
        one_of("schedule_per", self.schedule_per, UNITS)
        truth("fused", self.fused)
        for field in ("batch_size", "epochs", "evaluate_epochs"):
            store(self, field, whole(field, getattr(self, field)))
        store(self, "devices", whole("devices", self.devices, most=MOST_DEVICES))
        for field in ("max_steps", "checkpoint_steps"):
            store(self, field, whole(field, getattr(self, field), least=0))
        store(self, "threads", whole("threads", self.threads, least=0, most=MOST_THREADS))
        store(self, "seed", whole("seed", self.seed, least=0, most=2**63 - 1))
        store(self, "evaluate", listed("evaluate", self.evaluate, '["train"] or ["test"]'))
        for split in self.evaluate:
            one_of("evaluate", split, SPLITS)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they stand in TOML and JSON."""
        return convert.to_dict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunSpec:
        """The spec that `to_dict` wrote; unknown fields are errors."""
        return convert.from_dict(cls, values)

    def to_toml(self) -> str:
        """The spec as a TOML file."""
        return convert.to_toml(self.to_dict())

    @classmethod
    def from_file(cls, path: str | Path) -> RunSpec:
        """Read a spec from a `.toml` or `.json` file."""
        return cls.from_dict(convert.read(Path(path)))

    def with_fields(self, changes: Mapping[str, object]) -> RunSpec:
        """A copy with fields replaced by dotted name; text is read as the field's type.

        >>> from lockstep import recipes
        >>> spec = recipes.timemachine_gru().with_fields({"model.num_hiddens": "64", "seed": 3})
        >>> spec.model.num_hiddens, spec.seed
        (64, 3)
        """
        return convert.with_fields(self, changes)

    def with_lr(self, lr: float) -> RunSpec:
        """A copy whose schedule starts from another base learning rate."""
        return replace(self, schedule=convert.rebase(self.schedule, lr))

    @property
    def hash(self) -> str:
        """Twelve hex digits that name this exact description."""
        values = self.to_dict()
        for name in ADDED:
            if values[name] == getattr(RunSpec, name):
                del values[name]
        text = json.dumps(values, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def diff(one: RunSpec, other: RunSpec) -> list[tuple[str, object, object]]:
    """The fields in which two specs differ: (dotted name, value in one, value in other).

    >>> from lockstep import recipes
    >>> diff(recipes.airfoil_linear(), recipes.airfoil_linear(batch_size=1, seed=7))
    [('batch_size', 10, 1), ('seed', 0, 7)]
    """
    left, right = convert.flatten(one.to_dict()), convert.flatten(other.to_dict())
    names = dict.fromkeys([*left, *right])
    return [(n, left.get(n), right.get(n)) for n in names if left.get(n) != right.get(n)]
