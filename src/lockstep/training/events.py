"""What happens in a run, in the past tense. Each event is plain data: a record, a line of JSON."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any

from lockstep.errors import InputError
from lockstep.files import spelled


@dataclass(frozen=True)
class RunStarted:
    """The run's outline: where it begins (0, or the checkpoint's step) and where it ends.

    `facts` are those of the data, and the `framework` that carries it out from here on.
    """

    step: int
    num_steps: int
    steps_per_epoch: int
    facts: dict[str, Any]


@dataclass(frozen=True)
class ProgramCompiled:
    """The program is ready. `notes` name the path that runs and every fallback."""

    seconds: float
    notes: list[str]


@dataclass(frozen=True)
class StepsCompleted:
    """Steps `step`, `step` + 1 ... of one epoch, with the lr each used.

    `batch` holds a number for each that stands for its rows and their order (data/plans.py).
    """

    step: int
    epoch: int
    loss: list[float]
    grad_norm: list[float]
    lr: list[float]
    seconds: float
    batch: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class EpochCompleted:
    """`epoch` is over after `step` updates. Metrics: train_loss, and those of evaluated splits."""

    epoch: int
    step: int
    metrics: dict[str, float]
    seconds: float


@dataclass(frozen=True)
class LearningRateSet:
    """A callback set the rate by hand, from `step` on; None returned it to the schedule."""

    step: int
    lr: float | None


@dataclass(frozen=True)
class RemarkMade:
    """Something about the run that a person should know, in a sentence."""

    step: int
    text: str


@dataclass(frozen=True)
class CheckpointSaved:
    step: int
    path: str


@dataclass(frozen=True)
class RunDiverged:
    """The loss of `step` was not finite after an update with `lr`; the state at `kept` is saved."""

    step: int
    loss: float
    lr: float
    kept: int


@dataclass(frozen=True)
class RunInterrupted:
    step: int


@dataclass(frozen=True)
class RunCompleted:
    step: int
    seconds: float


Event = (
    RunStarted
    | ProgramCompiled
    | StepsCompleted
    | EpochCompleted
    | LearningRateSet
    | RemarkMade
    | CheckpointSaved
    | RunDiverged
    | RunInterrupted
    | RunCompleted
)
_KINDS: dict[str, Any] = {kind.__name__: kind for kind in Event.__args__}


def to_json(event: Event) -> str:
    """One line of JSON; numbers survive exactly, those not finite as text.

    >>> to_json(RunInterrupted(step=3))
    '{"event": "RunInterrupted", "step": 3}'
    """
    values = to_values(event)
    try:
        return json.dumps(values, allow_nan=False)
    except ValueError:
        return json.dumps(spelled(values))


def to_values(event: Event) -> dict[str, Any]:
    """The event as plain values, its kind among them."""
    return {"event": type(event).__name__, **dataclasses.asdict(event)}


def from_json(line: str) -> Event:
    """The event that `to_json` wrote."""
    return from_values(json.loads(line))


def from_values(values: dict[str, Any]) -> Event:
    """The event that `to_values` gave."""
    kind = values.pop("event", None)
    names = {item.name for item in dataclasses.fields(_KINDS[kind])} if kind in _KINDS else set()
    if kind not in _KINDS or values.keys() != names:
        raise InputError("event", kind, "is not known", "The log is of another version.")
    for item in dataclasses.fields(_KINDS[kind]):
        if "float" in item.type:  # "inf" in any other field is a word
            values[item.name] = _spelled_back(values[item.name])
    event: Event = _KINDS[kind](**values)
    return event


def _spelled_back(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _spelled_back(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_spelled_back(v) for v in value]
    return float(value) if value in ("nan", "inf", "-inf") else value
