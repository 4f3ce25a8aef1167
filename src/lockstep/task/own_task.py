"""A person's own task: their arrays, and their model, written over Ops or in a framework."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lockstep.checks import one_of
from lockstep.contract import Array as ContractArray
from lockstep.contract import ContractOps
from lockstep.errors import InputError, unknown
from lockstep.models.fitting import (
    as_labels,
    as_numbers,
    check_outputs,
    finite_numbers,
    with_outputs,
)
from lockstep.models.structure import digest_of, initial_arrays, structure
from lockstep.ops import Array, Arrays, Ops, Weights
from lockstep.schedules import as_schedule
from lockstep.spec import SGD, OwnData, OwnModel, RunSpec
from lockstep.spec.data_parts import LOSSES, OWN
from lockstep.task.own_functions import (
    OwnFunction,
    as_function,
    as_metrics,
    as_weights,
    by_class,
    try_functions,
)
from lockstep.task.task import Task


@dataclass(frozen=True)
class OwnNet:
    """A function `net(ops, w, x) -> outputs` with the weights it starts from."""

    function: Callable[[Any, Any, Any], Any]
    weights: dict[str, np.ndarray]
    fused_parts = ()

    def initial_weights(self, seed: int) -> Arrays:
        return {name: np.array(value, np.float64) for name, value in self.weights.items()}

    def carry_shapes(self, batch_size: int) -> dict[str, tuple[int, ...]]:
        return {}

    def apply(self, ops: Ops, w: Weights, x: Array, carry: Weights) -> tuple[Array, Weights]:
        own = ContractOps(ops, inside_net=True)
        weights = {name: own.wrap(value) for name, value in w.items()}
        outputs = self.function(own, weights, own.wrap(x))
        if isinstance(outputs, ContractArray):
            outputs = own.floating(outputs).native
        return with_outputs(outputs), carry


@dataclass(frozen=True)
class Own:
    """Arrays by split, and a model: `net` over Ops, or `native`, a framework's module."""

    splits: dict[str, dict[str, np.ndarray]]
    net: OwnNet
    native: Any
    loss: str
    structure: tuple[str, ...] = ()  # what the model is, in lines (models/structure.py)
    own_loss: OwnFunction | None = None
    metrics: Mapping[str, OwnFunction] = field(default_factory=dict)

    @property
    def functions(self) -> tuple[str, ...]:
        """Where the own loss and metrics are found: loss=file.py:name; nothing after = if not."""
        own = {"loss": self.own_loss} if self.own_loss else {}
        return tuple(f"{n}={reference_of(f.function)}" for n, f in {**own, **self.metrics}.items())

    @property
    def reference(self) -> str:
        """`file.py:name` of the model function, by which another process finds it; or ""."""
        return reference_of(self.net.function)

    @property
    def digest(self) -> str:
        """Twelve hex digits of the arrays and initial weights."""
        groups = {**self.splits, "weights": self.net.weights}
        names = sorted((g, n) for g, arrays in groups.items() for n in arrays)
        return _digest((f"{g}/{n}", groups[g][n]) for g, n in names)

    def run(self, *, lr: Any = 0.1, schedule: Any = None, **fields: Any) -> RunSpec:
        """A spec for this task: any field of RunSpec by name, `lr` or a whole `schedule`.

        `data` may say how the arrays are read: {"order": "in_order"}, "drop_last", and which
        fraction of them is held back: {"validation": 0.1}. Other splits are measured.
        """
        known = [f.name for f in dataclasses.fields(RunSpec) if f.name != "model"]
        for name in fields:
            if name not in known:
                raise unknown("field", name, [*known, "lr"])
        defaults: dict[str, Any] = {"name": "own", "optimizer": SGD(), "batch_size": 32}
        fields = defaults | fields
        fields.setdefault("evaluate", tuple(s for s in self.splits if s != "train"))
        brought = () if self.native is None else initial_arrays(self.native)
        return RunSpec(
            data=OwnData(
                digest=self.digest,
                loss=self.loss,
                functions=self.functions,
                **_reading(fields.pop("data", {})),
            ),
            model=OwnModel(
                reference=self.reference,
                structure=digest_of(self.structure) if self.structure else "",
                weights=_digest(brought) if self.native is not None else "",
            ),
            schedule=as_schedule(schedule if schedule is not None else lr),
            **fields,
        )


def reference_of(function: Any) -> str:
    """`file.py:name` of a function, by which another process finds it; "" for one without a file,
    as in a notebook, whose cells have made-up names of files."""
    try:
        file = inspect.getsourcefile(function)
    except TypeError:
        return ""
    name = getattr(function, "__qualname__", "<")
    if file is None or "<" in name or not Path(file).is_file():
        return ""
    return f"{Path(file).resolve()}:{name}"


def own_structure(
    model: Any, loss: OwnFunction | None, metrics: Mapping[str, OwnFunction]
) -> tuple[str, ...]:
    """The lines that say what a model is, and what its own loss and metrics are."""
    functions = [*([loss] if loss else []), *metrics.values()]
    return sum((structure(each.function, each.name) for each in functions), structure(model))


READING = ("order", "drop_last", "validation")  # what a run may choose of the arrays that it has


def _reading(data: Any) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        remedy = 'Give a table such as {"order": "in_order"}.'
        raise InputError("data", data, "is not how own arrays are read", remedy)
    for name, value in data.items():
        if name == "max_examples":
            remedy = f"Give fewer to ls.own: x[:{value}], y[:{value}]."
            raise InputError("data.max_examples", value, "own arrays are used whole", remedy)
        if name not in READING:
            raise unknown("data field (of own)", name, READING)
    return dict(data)


def _digest(arrays: Iterable[tuple[str, np.ndarray]]) -> str:
    """Twelve hex digits of named arrays."""
    sha = hashlib.sha256()
    for name, value in arrays:
        sha.update(f"{name}{value.dtype}{value.shape}".encode())
        sha.update(np.ascontiguousarray(value).tobytes())
    return sha.hexdigest()[:12]


def own(
    model: Callable[..., Any] | Any,
    x: np.ndarray,
    y: np.ndarray,
    *,
    weights: Mapping[str, np.ndarray] | None = None,
    loss: str | Callable[..., Any] = "squared",
    metrics: Mapping[str, Callable[..., Any]] | None = None,
    example_weights: np.ndarray | None = None,
    class_weights: Mapping[int, float] | Iterable[float] | None = None,
    x_validation: np.ndarray | None = None,
    y_validation: np.ndarray | None = None,
    x_test: np.ndarray | None = None,
    y_test: np.ndarray | None = None,
) -> Own:
    """Your arrays and your model as a task.

    `model` is a function `net(ops, w, x)` with its initial `weights`, which runs in every
    framework, or a framework's own module (torch.nn.Module, flax), which runs in its own.

    "squared": y is (N, ...) as the outputs are, or (N,) for outputs (N, 1); the loss is the sum
    over an example's outputs, averaged over examples. "cross_entropy": y holds whole-number labels
    (N, ...) for scores (N, ..., C), as (N, T) for scores (N, T, C) of sequences; loss and accuracy
    are averaged over all labels. A function `loss(ops, outputs, y) -> (B,)` gives the loss of each
    example, and `metrics`, by name, more that is measured with the splits. For them y is as given,
    but of floats (N,) it is (N, 1).

    `example_weights` (N,) and `class_weights` (one for each class, or {label: number}) multiply
    losses, not metrics; only their ratios matter (docs/conventions.md).

    >>> net = lambda ops, w, x: x @ w["w"]
    >>> mine = own(net, np.eye(4), np.arange(4.0), weights={"w": np.zeros((4, 1))})
    >>> mine.splits["train"]["y"].shape
    (4, 1)
    """
    own_loss = None if isinstance(loss, str) else OwnFunction("loss", as_function("loss", loss))
    loss = one_of("loss", loss, LOSSES) if own_loss is None else OWN
    splits = {"train": _split("", x, y, loss)}
    given = {"validation": (x_validation, y_validation), "test": (x_test, y_test)}
    for name, (x_own, y_own) in given.items():
        if (x_own is None) != (y_own is None):
            lacking = f"x_{name}" if x_own is None else f"y_{name}"
            remedy = f"Give both x_{name} and y_{name}, or neither."
            raise InputError(lacking, None, "is missing", remedy)
        if x_own is not None and y_own is not None:
            splits[name] = _split(f"_{name}", x_own, y_own, loss)
    classes = None
    if class_weights is not None:
        classes = by_class(class_weights, [arrays["y"] for arrays in splits.values()])
    for name, arrays in splits.items():
        factor = example_weights if name == "train" else None
        factors = as_weights(arrays["y"], factor, classes)
        if factors is not None:
            arrays["weight"] = factors
    plain = inspect.isfunction(model) or inspect.ismethod(model) or isinstance(model, partial)
    if plain and not weights:
        raise InputError("weights", weights, "are missing", "Give the model's initial weights.")
    if not plain and weights:
        problem = f"are not for a {type(model).__name__}, which brings its own"
        raise InputError("weights", list(weights), problem, "Leave them out.")
    start = {n: finite_numbers(f"weights[{n!r}]", value) for n, value in (weights or {}).items()}
    native = None if plain else model
    measured = as_metrics(metrics)
    lines = own_structure(model, own_loss, measured)
    return Own(splits, OwnNet(model, start), native, loss, lines, own_loss, measured)


def _split(suffix: str, x: np.ndarray, y: np.ndarray, loss: str) -> dict[str, np.ndarray]:
    x, y = as_numbers(f"x{suffix}", x), as_numbers(f"y{suffix}", y)
    if len(x) != len(y):
        raise InputError(f"y{suffix}", y.shape, f"does not match x{suffix} {x.shape}", "Pair them.")
    if loss == "squared" or (loss == OWN and y.dtype.kind == "f"):
        y = y.astype(np.float64)
        y = y.reshape(-1, 1) if y.ndim == 1 else y
    elif loss == "cross_entropy":
        y = as_labels(f"y{suffix}", y)
    return {"x": x.astype(np.float64) if x.dtype.kind == "f" else x, "y": y}


def check_net(task: Task, ops: Ops) -> None:
    """Refuse a net over Ops that fails, or whose outputs do not fit y, on two examples of each
    split; `ops` computes them. A framework's own module is tried when its program is built."""
    net = task.model
    if not isinstance(net, OwnNet) or task.native is not None:
        return
    weights = {name: ops.asarray(value) for name, value in net.initial_weights(0).items()}

    def call(x: np.ndarray) -> Array:
        with np.errstate(all="ignore"):
            return net.apply(ops, weights, ops.asarray(x), {})[0]

    name = getattr(net.function, "__name__", type(net.function).__name__)
    also = partial(try_functions, task.own_functions, ops)
    check_outputs(task.splits, task.classifies, name, call, "loss" in task.own_functions, also)
