"""Faster equivalent implementations of model parts, and of whole runs: what all adapters share.

A framework's `fused` holds them: functions by the name of a model's part, which its Ops offer as
`ops.fused`, and a program for linear regression by plain SGD. `--fused no` runs without any.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from lockstep.data.examples import example_batch
from lockstep.frameworks.programs import StepProgram
from lockstep.frameworks.state import DeviceState
from lockstep.models import Model
from lockstep.models.losses import squared
from lockstep.ops import Array, Ops, Weights
from lockstep.spec import SGD, Linear

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


NOTES = {
    "conv_max_pool": "fused convolution and pooling",
    "conv_avg_pool": "fused convolution and pooling",
    "symbol_gru": "fused gru",
}


def fused_notes(ops: Ops, model: Model) -> tuple[str, ...]:
    """The notes of the model's parts that have a faster implementation in these Ops."""
    return tuple(NOTES[part] for part in model.fused_parts if part in ops.fused)


# --- linear regression by plain SGD ---------------------------------------------------------------

BLOCK = 1 << 16  # numbers gathered at a time: bounds memory, fits the cache


def is_linear_sgd(task: Task, spec: RunSpec) -> bool:
    """Whether a run is linear regression by plain SGD on one device, and may be fused."""
    return spec.micro_batches == 1 and _takes_whole_batches(task, spec)


def unfused_notes(task: Task, spec: RunSpec) -> tuple[str, ...]:
    """What a run in micro-batches goes without."""
    lost = spec.micro_batches > 1 and _takes_whole_batches(task, spec)
    return ("no fused linear sgd: it takes whole batches",) if lost else ()


def _takes_whole_batches(task: Task, spec: RunSpec) -> bool:
    return (
        spec.fused
        and spec.devices == 1
        and spec.optimizer == SGD()
        and spec.model == Linear()
        and task.loss is squared
        and task.splits["train"]["y"].shape[1:] == (1,)
        and task.batch is example_batch
    )


class LinearSGD(Protocol):
    """The steps of linear regression in a framework's arrays.

    With theta = (w, b) and a column of ones beside x, a step of squared loss on B examples is
        r = X theta - y,   theta <- theta - (lr / B) X^T r
    and losses and gradient norms of many steps follow from their residuals r at once.
    """

    def pack(self, weights: Weights) -> Array:
        """A new theta: (I + 1, ...)."""

    def unpack(self, theta: Array) -> Weights: ...
    def block(
        self, theta: Array, rows: np.ndarray, rates: np.ndarray
    ) -> tuple[Array, tuple[np.ndarray, np.ndarray]]:
        """A step for each of rows (n, B), with rates -lr / B (n,): theta after them, and their
        losses and gradient norms, each (n,)."""


Log = list[tuple[np.ndarray, np.ndarray]]


class LinearSGDProgram:
    """The program of a `LinearSGD`, which `make(ops, data)` returns; all but its steps is that of
    StepProgram."""

    def __init__(
        self, ops: Ops, task: Task, spec: RunSpec, make: Callable[[Ops, Weights], LinearSGD]
    ) -> None:
        plain = StepProgram(ops, task, spec)
        self.notes: tuple[str, ...] = ("fused linear sgd",)
        self.initial, self.prepare = plain.initial, plain.prepare
        self.load, self.dump, self.evaluate = plain.load, plain.dump, plain.evaluate
        self.restart_carry = plain.restart_carry
        self._regression = make(ops, plain.data["train"])

    def steps(
        self, state: DeviceState, rows: np.ndarray, lrs: np.ndarray, first_step: int
    ) -> tuple[DeviceState, Log]:
        theta = self._regression.pack(state.weights)
        log: Log = []
        size = max(1, BLOCK // (rows.shape[1] * theta.shape[0]))
        for i in range(0, len(rows), size):
            rates = -lrs[i : i + size] / rows.shape[1]
            theta, found = self._regression.block(theta, rows[i : i + size], rates)
            log.append(found)
        return DeviceState(self._regression.unpack(theta), {}, {}), log

    def fetch(self, log: Log) -> dict[str, np.ndarray]:
        losses, norms = (np.concatenate(parts) for parts in zip(*log, strict=True))
        return {"loss": losses.astype(np.float64), "grad_norm": norms.astype(np.float64)}
