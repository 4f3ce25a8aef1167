"""A program that runs many steps as one compiled loop.

The loop's length is an argument, not part of the compiled code: the same machine code runs
whatever number of steps is asked for, so that cutting a run elsewhere changes no bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lockstep import optimizers
from lockstep.frameworks.layout import Layout
from lockstep.frameworks.protocol import Sums
from lockstep.frameworks.state import DeviceState, StateKeeper, States
from lockstep.ops import Array, Ops, Snapshot

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task

# (state, data, rows (n, b), numbers (n, k), first step, count) -> state, log (n, 2); count <= n
Loop = Callable[..., tuple[DeviceState, Array]]


class CompiledProgram:
    """`compile_loop(*arguments)` returns a `Loop` for arguments of those shapes;
    `evaluate_block(weights, data, rows (n, b))` is compiled too, and returns sums of losses and
    numbers correct, each (n,). `states` holds the state where that is not one device's."""

    def __init__(
        self,
        ops: Ops,
        task: Task,
        spec: RunSpec,
        *,
        compile_loop: Callable[..., Loop],
        evaluate_block: Callable[..., tuple[Array, Array]],
        initial: Callable[[], Snapshot],
        layout: Layout | None = None,
        states: StateKeeper | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.notes = ("compiled loop over steps", *notes)
        self.initial = initial
        self._ops, self._task, self._spec = ops, task, spec
        self._capacity: dict[int, int] = {}  # batch size -> longest block
        self._compile_loop, self._evaluate_block = compile_loop, evaluate_block
        self._loops: dict[tuple[int, ...], Loop] = {}
        states = states or States(ops, task, spec, layout)
        self._data = states.data()
        self.load, self.dump = states.load, states.dump
        self.restart_carry = states.restart_carry

    def prepare(self, state: DeviceState, blocks: Sequence[np.ndarray]) -> None:
        for block in blocks:
            steps, batch = block.shape
            self._capacity[batch] = max(steps, self._capacity.get(batch, 0))
        for block in blocks:
            arguments = self._arguments(state, block, np.zeros(len(block)), 0)
            key = arguments[2].shape
            if key not in self._loops:
                self._loops[key] = self._compile_loop(*arguments)

    def steps(
        self, state: DeviceState, rows: np.ndarray, lrs: np.ndarray, first_step: int
    ) -> tuple[DeviceState, tuple[Array, int]]:
        if len(rows) > self._capacity.get(rows.shape[1], 0):
            self.prepare(state, [rows])
        arguments = self._arguments(state, rows, lrs, first_step)
        state, log = self._loops[arguments[2].shape](*arguments)
        return state, (log, len(rows))

    def _arguments(
        self, state: DeviceState, rows: np.ndarray, lrs: np.ndarray, first_step: int
    ) -> tuple[Any, ...]:
        numbers = optimizers.step_numbers(self._spec.optimizer, lrs, first_step)
        numbers = numbers.astype(self._ops.precision)
        spare = self._capacity[rows.shape[1]] - len(rows)
        if spare:
            rows = np.pad(rows, ((0, spare), (0, 0)))
            numbers = np.pad(numbers, ((0, spare), (0, 0)))
        count = len(rows) - spare
        return state, self._data["train"], rows, numbers, np.int32(first_step), np.int32(count)

    def fetch(self, log: tuple[Array, int]) -> dict[str, np.ndarray]:
        values = np.asarray(log[0], np.float64)[: log[1]]  # host sync
        return {"loss": values[:, 0], "grad_norm": values[:, 1]}

    def evaluate(self, state: DeviceState, split: str) -> Sums:
        loss = correct = 0.0
        for block in self._task.evaluation_rows(split):
            losses, corrects = self._evaluate_block(state.weights, self._data[split], block)
            loss += float(np.asarray(losses, np.float64).sum())
            correct += float(np.asarray(corrects, np.float64).sum())
        return Sums(loss, correct, self._task.count(split))
