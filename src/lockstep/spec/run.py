"""RunSpec: one run, completely described. Frozen, validated, with a content hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from lockstep.checks import folder_name, listed, number, one_of, part_of, store, truth, whole
from lockstep.errors import InputError
from lockstep.schedules import KINDS, ReduceOnPlateau, Schedule
from lockstep.showing import ShowsItself
from lockstep.spec import convert, document
from lockstep.spec.parts import PARTS, DataPart, ModelPart, OptimizerPart

STYLES = ("scratch", "concise")
PRECISIONS = ("float32", "float64")
UNITS = ("step", "epoch")
SPLITS = ("train", "validation", "test")
MOST_DEVICES = 4096
MOST_THREADS = 4096


def _option(
    help: str,
    check: Callable[[str, Any], Any],
    default: Any = MISSING,
    *,
    rare: bool = False,
    added: bool = False,
) -> Any:
    """A field with its help on the command line, the check of its value, and its default, if any.

    A `rare` option takes no abbreviation from others: `--e 3` stays --epochs. One that was `added`
    after hashes were in use leaves a run's hash as it was, at its default. A new one is both.
    """
    facts = {"help": help, "check": check, "rare": rare, "added": added}
    return field(default=default, metadata=facts)


def _splits(field: str, value: object) -> tuple[str, ...]:
    return tuple(one_of(field, split, SPLITS) for split in listed(field, value, '["train"]'))


def _metric(field: str, value: object) -> str:
    if not isinstance(value, str) or not (value.isidentifier() or not value):
        raise InputError(field, value, "is no metric", "Name one such as validation_accuracy.")
    return value


@dataclass(frozen=True, repr=False)
class RunSpec(ShowsItself, as_="spec"):
    """Data, model, batch size, optimizer, schedule, framework, devices and seed of one run.

    A field with its help and check here is an option of every command that takes a run.
    `batch_size` is that of all `devices` together. `evaluate` names the splits measured after every
    `evaluate_epochs` epochs and at the end, beside a validation part; with `evaluate_steps` also
    before the first update and after every so many. `checkpoint_steps` 0 means after an epoch, at
    most every ten seconds, and at the end. `threads` 0 leaves their number to the framework.
    `patience` counts measurements: of epochs, and those of `evaluate_steps`.
    """

    name: str = _option(
        "of the run, and the beginning of its folder's name", folder_name, rare=True
    )
    data: DataPart = _option(
        "real, or generated on the spot (the field data.source)",
        partial(part_of, kinds=PARTS["data"]),
    )
    model: ModelPart = _option(
        "its kind: linear, mlp, lenet, gru ...", partial(part_of, kinds=PARTS["model"]), rare=True
    )
    optimizer: OptimizerPart = _option(
        "its kind: sgd, momentum, adam ...", partial(part_of, kinds=PARTS["optimizer"])
    )
    schedule: Schedule | ReduceOnPlateau = _option(
        'e.g. "cosine(0.3, steps=20)" (see `lockstep schedule --list`)',
        partial(part_of, kinds=KINDS),
    )
    schedule_per: str = _option(
        "what the schedule counts: step or epoch", partial(one_of, known=UNITS), "step"
    )
    batch_size: int = _option("examples of an update, on all devices together", whole, 32)
    epochs: int = _option("passes over the data", whole, 1)
    max_steps: int = _option("stop after so many updates; 0: no limit", partial(whole, least=0), 0)
    seed: int = _option(
        "of initial weights and batch order", partial(whole, least=0, most=2**63 - 1), 0
    )
    framework: str = _option(
        "numpy, torch, jax ... (see `lockstep env list`), or fastest: the fastest here",
        folder_name,
        "numpy",
    )
    devices: int = _option("how many share every batch", partial(whole, most=MOST_DEVICES), 1)
    style: str = _option(
        "scratch: models written once for all; concise: the framework's own layers",
        partial(one_of, known=STYLES),
        "scratch",
    )
    precision: str = _option("float32 or float64", partial(one_of, known=PRECISIONS), "float32")
    fused: bool = _option(
        "yes or no: whether faster equivalent implementations of a model's parts may be used",
        truth,
        True,
        rare=True,
    )
    evaluate: tuple[str, ...] = _option(
        "what is measured after epochs: any of train, validation, test", _splits, (), rare=True
    )
    evaluate_epochs: int = _option("measure after every so many epochs", whole, 1, rare=True)
    evaluate_steps: int = _option(
        "measure after every so many updates too; 0: after epochs only",
        partial(whole, least=0),
        0,
        rare=True,
        added=True,
    )
    checkpoint_steps: int = _option(
        "save after every so many updates; 0: by the clock", partial(whole, least=0), 0, rare=True
    )
    threads: int = _option(
        "each process computes with; 0: as many as the framework takes",
        partial(whole, least=0, most=MOST_THREADS),
        0,
        rare=True,
        added=True,
    )
    micro_batches: int = _option(
        "parts that each device cuts its share of a batch into, to need less memory",
        whole,
        1,
        rare=True,
        added=True,
    )
    patience: int = _option(
        "stop after so many measurements without a gain, and take the best weights; 0: go on",
        partial(whole, least=0),
        0,
        rare=True,
        added=True,
    )
    watch: str = _option(
        "the metric that patience is about (default: validation_loss)",
        _metric,
        "",
        rare=True,
        added=True,
    )
    least_gain: float = _option(
        "by how much the metric must get better to be a gain",
        partial(number, least=0.0),
        0.0,
        rare=True,
        added=True,
    )

    def __post_init__(self) -> None:
        for item in fields(self):
            value = item.metadata["check"](item.name, getattr(self, item.name))
            store(self, item.name, value)
        if self.evaluate_steps and not self.measured:
            remedy = "Give --evaluate train, test or both."
            raise InputError("evaluate_steps", self.evaluate_steps, "no split is measured", remedy)
        if self.micro_batches > self.batch_size:
            remedy = f"Give at most {self.batch_size}."
            raise InputError(
                "micro_batches", self.micro_batches, "is more than a batch has", remedy
            )
        if self.patience and not self.watch and "validation" not in self.measured:
            problem = "there is no validation part to watch"
            remedy = "Add --data.validation 0.1, or name a metric, such as --watch train_loss."
            raise InputError("patience", self.patience, problem, remedy)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as TOML and JSON hold them."""
        return convert.to_dict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunSpec:
        """The spec that `to_dict` wrote; unknown fields are errors."""
        return convert.from_dict(cls, values)

    def to_toml(self) -> str:
        """The spec as a TOML file."""
        return document.to_toml(self.to_dict())

    @classmethod
    def from_file(cls, path: str | Path) -> RunSpec:
        """Read a spec from a `.toml` or `.json` file."""
        return cls.from_dict(document.read(Path(path)))

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
    def measured(self) -> tuple[str, ...]:
        """The splits that are measured: those of `evaluate`, and a validation part where the data
        is told to have one.

        >>> from lockstep import recipes
        >>> recipes.fashion_mlp(**{"data.validation": 0.1}).measured
        ('validation', 'test')
        """
        held = getattr(self.data, "validation", 0.0) and "validation" not in self.evaluate
        return ("validation", *self.evaluate) if held else self.evaluate

    @property
    def watched(self) -> str:
        """The metric that early stopping goes by."""
        return self.watch or "validation_loss"

    @property
    def hash(self) -> str:
        """Twelve hex digits that name this exact description."""
        values = self.to_dict()
        _leave_out_added(self, values)
        for name in PARTS:
            _leave_out_added(getattr(self, name), values[name])
        text = json.dumps(values, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def _leave_out_added(record: Any, values: dict[str, Any]) -> None:
    """Without the fields that were added after hashes were in use, where they have their default:
    the hashes of older runs stay as they were."""
    for item in fields(record):
        if item.metadata.get("added") and values[item.name] == item.default:
            del values[item.name]


def diff(one: RunSpec, other: RunSpec) -> list[tuple[str, object, object]]:
    """The fields in which two specs differ: (dotted name, value in one, value in other).

    >>> from lockstep import recipes
    >>> diff(recipes.airfoil_linear(), recipes.airfoil_linear(batch_size=1, seed=7))
    [('batch_size', 10, 1), ('seed', 0, 7)]
    """
    left, right = convert.flatten(one.to_dict()), convert.flatten(other.to_dict())
    names = dict.fromkeys([*left, *right])
    return [(n, left.get(n), right.get(n)) for n in names if left.get(n) != right.get(n)]
