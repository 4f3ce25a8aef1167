"""A program that runs its steps one by one, for frameworks (or models) without a compiled loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lockstep import optimizers
from lockstep.frameworks.protocol import Sums
from lockstep.frameworks.share import Share, Whole
from lockstep.frameworks.state import DeviceState, StateKeeper, States
from lockstep.frameworks.step import Step, initial_snapshot, make_step, make_sums
from lockstep.ops import Array, Ops, Snapshot

if TYPE_CHECKING:
    from lockstep.frameworks.layout import Layout
    from lockstep.spec import RunSpec
    from lockstep.task import Task

Log = list[tuple[Array, Array]]  # (loss, gradient norm) of each step


def fetched(log: Log) -> dict[str, np.ndarray]:
    """What `fetch` returns."""
    values = np.array([[float(loss), float(norm)] for loss, norm in log]).reshape(-1, 2)
    return {"loss": values[:, 0], "grad_norm": values[:, 1]}


def evaluated(
    ops: Ops, task: Task, split: str, sums: Callable[[Array], tuple[Array, Array]], share: Share
) -> Sums:
    """What `evaluate` returns, from a share's `sums(rows)` of each batch."""
    loss = correct = 0.0
    for block in task.evaluation_rows(split):
        for rows in ops.asarray(block):
            part = sums(rows)
            loss, correct = loss + float(part[0]), correct + float(part[1])
    loss, correct = share.total([loss, correct])
    return Sums(loss, correct, task.count(split))


class EagerProgram:
    """`step` and `sums` of `step.py`, or compiled equals of them, called batch by batch.

    `states` holds the state where that is not one device's."""

    def __init__(
        self,
        ops: Ops,
        task: Task,
        spec: RunSpec,
        *,
        step: Step | None = None,
        sums: Callable[..., tuple[Array, Array]] | None = None,
        layout: Layout | None = None,
        initial: Callable[[], Snapshot] | None = None,
        share: Share | None = None,
        states: StateKeeper | None = None,
        notes: tuple[str, ...] = ("eager steps",),
    ) -> None:
        self.notes = notes
        self._ops, self._task, self._spec = ops, task, spec
        self._compiles = step is not None
        self._share = share or Whole(ops)
        self._step = step or make_step(ops, task, spec, share=self._share)
        self._sums = sums or make_sums(ops, task, share=self._share)
        self.initial = initial or initial_snapshot(task, spec)
        states = states or States(ops, task, spec, layout)
        self._data = states.data()
        self.load, self.dump = states.load, states.dump
        self.restart_carry = states.restart_carry

    def prepare(self, state: DeviceState, blocks: Sequence[np.ndarray]) -> None:
        if self._compiles:  # once on a batch of each size
            for rows in {block.shape[1]: block for block in blocks}.values():
                self.fetch(self.steps(state, rows[:1], np.zeros(1), 0)[1])

    def steps(
        self, state: DeviceState, rows: np.ndarray, lrs: np.ndarray, first_step: int
    ) -> tuple[DeviceState, Log]:
        w, slots, carry = state
        numbers: list[Any] = optimizers.step_numbers(self._spec.optimizer, lrs, first_step).tolist()
        log = []
        for i, batch in enumerate(self._ops.asarray(rows)):
            w, slots, carry, loss, norm = self._step(
                w, slots, carry, self._data["train"], batch, numbers[i], first_step + i
            )
            log.append((loss, norm))
        return DeviceState(w, slots, carry), log

    def fetch(self, log: Log) -> dict[str, np.ndarray]:
        return fetched(log)

    def evaluate(self, state: DeviceState, split: str) -> Sums:
        def sums(rows: Array) -> tuple[Array, Array]:
            return self._sums(state.weights, self._data[split], rows)

        return evaluated(self._ops, self._task, split, sums, self._share)
