"""A program that runs its steps one by one, for frameworks (or models) without a compiled loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from lockstep import optimizers
from lockstep.frameworks.protocol import Array, Ops, Snapshot, Sums, Weights
from lockstep.frameworks.step import device_data, initial_snapshot, make_step, make_sums, zero_carry

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


@dataclass(frozen=True)
class EagerState:
    """Weights, optimizer slots and carried state as the framework's own arrays."""

    weights: Weights
    slots: Weights
    carry: Weights


def fetched(log: list[tuple[Array, Array]]) -> dict[str, np.ndarray]:
    """What `fetch` returns, from a (loss, gradient norm) pair for each step."""
    values = np.array([[float(loss), float(norm)] for loss, norm in log]).reshape(-1, 2)
    return {"loss": values[:, 0], "grad_norm": values[:, 1]}


class EagerProgram:
    """The one step of `step.py`, called once per row block entry."""

    def __init__(self, ops: Ops, task: Task, spec: RunSpec, notes: tuple[str, ...] = ()) -> None:
        self.notes = notes or ("eager steps",)
        self._ops, self._task, self._spec = ops, task, spec
        self._data = device_data(ops, task)
        self._step = make_step(ops, task, spec)
        self._sums = make_sums(ops, task)
        self.initial = initial_snapshot(task, spec)

    def prepare(self, state: EagerState, blocks: Sequence[np.ndarray]) -> None:
        """Nothing to compile."""

    def load(self, snapshot: Snapshot) -> EagerState:
        full = self._task.complete(snapshot, self._spec)
        arrays = [
            {name: self._ops.asarray(value) for name, value in group.items()}
            for group in (full.weights, full.slots, full.carry)
        ]
        return EagerState(*arrays)

    def dump(self, state: EagerState) -> Snapshot:
        groups = [
            {name: np.array(self._ops.to_numpy(value)) for name, value in group.items()}
            for group in (state.weights, state.slots, state.carry)
        ]
        return Snapshot(*groups)

    def restart_carry(self, state: EagerState) -> EagerState:
        return replace(state, carry=zero_carry(self._ops, self._task, self._spec.batch_size))

    def steps(
        self, state: EagerState, rows: np.ndarray, lrs: np.ndarray, first_step: int
    ) -> tuple[EagerState, list[tuple[Array, Array]]]:
        w, slots, carry = state.weights, state.slots, state.carry
        numbers = optimizers.step_numbers(self._spec.optimizer, lrs, first_step).tolist()
        log = []
        for i, batch in enumerate(self._ops.asarray(rows)):
            w, slots, carry, loss, norm = self._step(
                w, slots, carry, self._data["train"], batch, numbers[i], first_step + i
            )
            log.append((loss, norm))
        return EagerState(w, slots, carry), log

    def fetch(self, log: list[tuple[Array, Array]]) -> dict[str, np.ndarray]:
        return fetched(log)

    def evaluate(self, state: EagerState, split: str) -> Sums:
        loss = correct = 0.0
        for block in self._task.evaluation_rows(split):
            for rows in self._ops.asarray(block):
                part = self._sums(state.weights, self._data[split], rows)
                loss, correct = loss + float(part[0]), correct + float(part[1])
        return Sums(loss, correct, self._task.count(split))
