"""A person's own task: their arrays, with their own model written over Ops or in a framework."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lockstep.contract.kinds import require_32_bits
from lockstep.errors import InputError
from lockstep.models.own import OwnNet
from lockstep.schedules import as_schedule
from lockstep.spec import SGD, OwnData, OwnModel, RunSpec
from lockstep.spec.checks import one_of
from lockstep.spec.parts import LOSSES


@dataclass(frozen=True)
class Own:
    """Arrays by split, and a model: `net` over Ops, or `native`, a framework's module."""

    splits: dict[str, dict[str, np.ndarray]]
    net: OwnNet
    native: Any
    loss: str

    @property
    def reference(self) -> str:
        """`file.py:name` of the model function, by which another process finds it; or ""."""
        function = self.net.function
        try:
            file = inspect.getsourcefile(function)
        except TypeError:
            return ""
        name = getattr(function, "__qualname__", "<")
        return f"{Path(file).resolve()}:{name}" if file and "<" not in name + file else ""

    @property
    def digest(self) -> str:
        """Twelve hex digits of the arrays and initial weights."""
        sha = hashlib.sha256()
        groups = {**self.splits, "weights": self.net.weights}
        for group, name in sorted((g, n) for g, arrays in groups.items() for n in arrays):
            value = groups[group][name]
            sha.update(f"{group}/{name}{value.dtype}{value.shape}".encode())
            sha.update(np.ascontiguousarray(value).tobytes())
        return sha.hexdigest()[:12]

    def run(self, *, lr: Any = 0.1, schedule: Any = None, **fields: Any) -> RunSpec:
        """A spec for this task: any field of RunSpec by name, `lr` or a whole `schedule`."""
        defaults: dict[str, Any] = {"name": "own", "optimizer": SGD(), "batch_size": 32}
        fields = defaults | fields
        fields.setdefault("evaluate", tuple(s for s in self.splits if s == "test"))
        return RunSpec(
            data=OwnData(digest=self.digest, loss=self.loss),
            model=OwnModel(reference=self.reference),
            schedule=as_schedule(schedule if schedule is not None else lr),
            **fields,
        )


def own(
    model: Callable[..., Any] | Any,
    x: np.ndarray,
    y: np.ndarray,
    *,
    weights: Mapping[str, np.ndarray] | None = None,
    loss: str = "squared",
    x_test: np.ndarray | None = None,
    y_test: np.ndarray | None = None,
) -> Own:
    """Your arrays and your model as a task.

    `model` is a function `net(ops, w, x)` with its initial `weights`, which runs in every
    framework, or a framework's own module (torch.nn.Module, flax), which runs in its own. For
    "squared", y is (N, O) or (N,); for "cross_entropy", y holds whole-number labels (N,).

    >>> net = lambda ops, w, x: x @ w["w"]
    >>> mine = own(net, np.eye(4), np.arange(4.0), weights={"w": np.zeros((4, 1))})
    >>> mine.splits["train"]["y"].shape
    (4, 1)
    """
    one_of("loss", loss, LOSSES)
    splits = {"train": _split("", x, y, loss)}
    if (x_test is None) != (y_test is None):
        lacking = "x_test" if x_test is None else "y_test"
        raise InputError(lacking, None, "is missing", "Give both x_test and y_test, or neither.")
    if x_test is not None and y_test is not None:
        splits["test"] = _split("_test", x_test, y_test, loss)
    plain = inspect.isfunction(model) or inspect.ismethod(model) or isinstance(model, partial)
    if plain and not weights:
        raise InputError("weights", weights, "are missing", "Give the model's initial weights.")
    if not plain and weights:
        problem = f"are not for a {type(model).__name__}, which brings its own"
        raise InputError("weights", list(weights), problem, "Leave them out.")
    given = {name: np.asarray(value) for name, value in (weights or {}).items()}
    return Own(splits, OwnNet(model, given), None if plain else model, loss)


def _split(suffix: str, x: np.ndarray, y: np.ndarray, loss: str) -> dict[str, np.ndarray]:
    x, y = np.asarray(x), np.asarray(y)
    require_32_bits(f"x{suffix}", x)
    if len(x) != len(y):
        raise InputError(f"y{suffix}", y.shape, f"does not match x{suffix} {x.shape}", "Pair them.")
    if loss == "squared":
        y = y.astype(np.float64)
        y = y.reshape(-1, 1) if y.ndim == 1 else y
    elif y.dtype.kind not in "iu" or y.min(initial=0) < 0:
        remedy = "Give whole numbers from 0 on."
        raise InputError(f"y{suffix}", y.dtype.name, "are not labels", remedy)
    return {"x": x.astype(np.float64) if x.dtype.kind == "f" else x, "y": y}
