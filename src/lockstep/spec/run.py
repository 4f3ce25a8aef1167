"""RunSpec: one run, completely described. Frozen, validated, with a content hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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


def _help(text: str) -> dict[str, str]:
    """What the help of a command line says of a field's option."""
    return {"help": text}


@dataclass(frozen=True)
class RunSpec:
    """Data, model, batch size, optimizer, schedule, framework, devices and seed of one run.

    `batch_size` is that of all `devices` together. `max_steps` 0 means no limit but `epochs`.
    `evaluate` names the splits measured after every `evaluate_epochs` epochs and at the end.
    `checkpoint_steps` 0 means after an epoch, at most every ten seconds, and at the end. `fused`
    allows an adapter's faster equal of a model part. `threads` is how many each process computes
    with; 0 leaves that to the framework.
    """

    name: str = field(metadata=_help("of the run, and the beginning of its folder's name"))
    data: DataPart = field(metadata=_help("real, or generated on the spot (the field data.source)"))
    model: ModelPart = field(metadata=_help("its kind: linear, mlp, lenet, gru ..."))
    optimizer: OptimizerPart = field(metadata=_help("its kind: sgd, momentum, adam ..."))
    schedule: Schedule | ReduceOnPlateau = field(
        metadata=_help('e.g. "cosine(0.3, steps=20)" (see `lockstep schedule --list`)')
    )
    schedule_per: str = field(
        default="step", metadata=_help("what the schedule counts: step or epoch")
    )
    batch_size: int = field(
        default=32, metadata=_help("examples of an update, on all devices together")
    )
    epochs: int = field(default=1, metadata=_help("passes over the data"))
    max_steps: int = field(default=0, metadata=_help("stop after so many updates; 0: no limit"))
    seed: int = field(default=0, metadata=_help("of initial weights and batch order"))
    framework: str = field(
        default="numpy",
        metadata=_help(
            "numpy, torch, jax ... (see `lockstep env list`), or fastest: the fastest here"
        ),
    )
    devices: int = field(default=1, metadata=_help("how many share every batch"))
    style: str = field(
        default="scratch",
        metadata=_help("scratch: models written once for all; concise: the framework's own layers"),
    )
    precision: str = field(default="float32", metadata=_help("float32 or float64"))
    fused: bool = field(
        default=True,
        metadata=_help("yes or no: whether faster equals of a model's parts may be used"),
    )
    evaluate: tuple[str, ...] = field(
        default=(), metadata=_help("what is measured after epochs: train, test or both")
    )
    evaluate_epochs: int = field(default=1, metadata=_help("measure after every so many epochs"))
    checkpoint_steps: int = field(
        default=0, metadata=_help("save after every so many updates; 0: by the clock")
    )
    threads: int = field(
        default=0, metadata=_help("each process computes with; 0: as many as the framework takes")
    )

    def __post_init__(self) -> None:
        folder_name("name", self.name)
        folder_name("framework", self.framework)
        for name, kinds in convert.PARTS.items():
            part_of(name, getattr(self, name), kinds)
        part_of("schedule", self.schedule, convert.KINDS)
        one_of("style", self.style, STYLES)
        one_of("precision", self.precision, PRECISIONS)
        one_of("schedule_per", self.schedule_per, UNITS)
        truth("fused", self.fused)
        for name in ("batch_size", "epochs", "evaluate_epochs"):
            store(self, name, whole(name, getattr(self, name)))
        store(self, "devices", whole("devices", self.devices, most=MOST_DEVICES))
        for name in ("max_steps", "checkpoint_steps"):
            store(self, name, whole(name, getattr(self, name), least=0))
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
