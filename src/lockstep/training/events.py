"""What happens in a run, in the past tense. Each event is plain data: a record, a line of JSON."""

from __future__ import annotations

import base64
import dataclasses
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from lockstep.errors import InputError
from lockstep.files import json_safe


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


@dataclass(frozen=True, eq=False)
class StepsCompleted:
    """Steps `step`, `step` + 1 ... of one epoch, with the lr each used, as arrays.

    `batch` holds a number for each that stands for its rows and their order (data/plans.py); it is
    empty where that is not known. `seconds` is the time of all these steps together.

    >>> StepsCompleted(0, 0, [3.0, 2.0], [1.0, 1.0], [0.1, 0.1], seconds=0.5).loss.tolist()
    [3.0, 2.0]
    """

    step: int
    epoch: int
    loss: np.ndarray
    grad_norm: np.ndarray
    lr: np.ndarray
    seconds: float
    batch: np.ndarray = ()  # type: ignore[assignment]

    def __post_init__(self) -> None:
        for name, kind in _COLUMNS.items():
            object.__setattr__(self, name, np.asarray(getattr(self, name), kind))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StepsCompleted):
            return NotImplemented
        mine, theirs = vars(self), vars(other)
        return all(np.array_equal(mine[name], theirs[name], equal_nan=True) for name in mine)

    __hash__ = None  # type: ignore[assignment]


_COLUMNS = {"loss": np.float64, "grad_norm": np.float64, "lr": np.float64, "batch": np.int64}


@dataclass(frozen=True)
class EpochCompleted:
    """`epoch` is over after `step` updates. Metrics: train_loss, and those of evaluated splits."""

    epoch: int
    step: int
    metrics: dict[str, float]
    seconds: float


@dataclass(frozen=True)
class StepsEvaluated:
    """The evaluated splits were measured after `step` updates, within `epoch`: the spec's
    `evaluate_steps`. Metrics are named as those of an epoch; `seconds` is the time of the steps."""

    step: int
    epoch: int
    metrics: dict[str, float]
    seconds: float


@dataclass(frozen=True)
class BestKept:
    """What was measured after `step` updates is the best so far by `metric`, which early stopping
    watches; the weights of that step are kept. `metrics` are all that were measured then."""

    step: int
    metric: str
    value: float
    metrics: dict[str, float]


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
class CheckpointSkipped:
    """A checkpoint is damaged; the run continues from the one of `step`."""

    path: str
    problem: str
    step: int


@dataclass(frozen=True)
class LogDamaged:
    """A run that is resumed found its record damaged: what is lost of it. Its state is whole."""

    path: str
    problem: str


@dataclass(frozen=True)
class SpecChanged:
    """From `step` on the run goes by other settings than before: another framework, or rate."""

    step: int
    changes: list[str]


@dataclass(frozen=True)
class StoppedEarly:
    """The run ended at `step`: since `best` updates, where `metric` was `value`, so many (`waited`)
    measurements brought no gain. Its weights are those of `best`; None and 0 where none was."""

    step: int
    best: int
    metric: str
    value: float | None
    waited: int


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
    | StepsEvaluated
    | BestKept
    | LearningRateSet
    | RemarkMade
    | CheckpointSaved
    | CheckpointSkipped
    | LogDamaged
    | SpecChanged
    | StoppedEarly
    | RunDiverged
    | RunInterrupted
    | RunCompleted
)
_KINDS: dict[str, Any] = {kind.__name__: kind for kind in Event.__args__}


def described(event: CheckpointSkipped | LogDamaged) -> str:
    """The damage as a sentence."""
    if isinstance(event, LogDamaged):
        return f"{event.path}: {event.problem}"
    what = f"checkpoint {event.path} is damaged ({event.problem})"
    return f"{what}; the run continued from the one of step {event.step:,}"


def to_json(event: Event) -> str:
    """One line of JSON; numbers survive exactly, those not finite as text.

    >>> to_json(RunInterrupted(step=3))
    '{"event": "RunInterrupted", "step": 3}'
    """
    values = to_values(event)
    try:
        return json.dumps(values, allow_nan=False)
    except ValueError:
        return json.dumps(json_safe(values))


def to_values(event: Event) -> dict[str, Any]:
    """The event as plain values, its kind among them."""
    values = {n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in vars(event).items()}
    return {"event": type(event).__name__, **values}


def to_message(event: Event) -> dict[str, Any]:
    """The same for another process: arrays are their bytes, which are faster to write and read."""
    values = {n: _packed(v) if isinstance(v, np.ndarray) else v for n, v in vars(event).items()}
    return {"event": type(event).__name__, **values}


def from_json(line: str) -> Event:
    """The event that `to_json` wrote."""
    return from_values(json.loads(line))


def from_values(values: dict[str, Any]) -> Event:
    """The event that `to_values` or `to_message` gave."""
    kind = values.pop("event", None)
    names = {item.name for item in dataclasses.fields(_KINDS[kind])} if kind in _KINDS else set()
    if kind not in _KINDS or values.keys() != names:
        raise InputError("event", kind, "is not known", "The log is of another version.")
    for item in dataclasses.fields(_KINDS[kind]):
        value = values[item.name]
        if isinstance(value, dict) and value.keys() == {"base64"} and item.name in _COLUMNS:
            values[item.name] = _unpacked(value, _COLUMNS[item.name])
        elif "float" in item.type or item.name in _COLUMNS:  # "inf" elsewhere is text
            values[item.name] = _from_json_safe(value)
        if item.name not in _COLUMNS and not _fits(values[item.name], str(item.type)):
            raise InputError(item.name, value, f"is not {item.type}", "The line is damaged.")
    event: Event = _KINDS[kind](**values)
    return event


def _from_json_safe(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _from_json_safe(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_from_json_safe(v) for v in value]
    return float(value) if value in ("nan", "inf", "-inf") else value


def _packed(values: np.ndarray) -> dict[str, str]:
    return {"base64": base64.b64encode(values.tobytes()).decode()}


def _unpacked(value: dict[str, str], kind: Any) -> np.ndarray:
    return np.frombuffer(base64.b64decode(value["base64"]), kind)


_TYPES: dict[str, Any] = {"int": int, "str": str, "float": int | float}


def _fits(value: Any, kind: str) -> bool:
    """Whether a value from outside has the type that a field is annotated with."""
    if kind.startswith("dict"):
        return isinstance(value, dict) and (
            "Any" in kind or all(isinstance(item, int | float) for item in value.values())
        )
    if kind.startswith("list"):
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if value is None:
        return "None" in kind
    return isinstance(value, _TYPES[kind.partition(" ")[0]]) and not isinstance(value, bool)
