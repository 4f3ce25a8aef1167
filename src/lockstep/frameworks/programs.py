"""The two programs that adapters build on: a call for each step, or a compiled loop of many steps.

Both keep the contract of `protocol.Program`. module_program.py has a third one, of layers that
keep their state inside.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lockstep import optimizers
from lockstep.frameworks.device_share import Share, WholeBatch
from lockstep.frameworks.layout import Layout
from lockstep.frameworks.protocol import Sums
from lockstep.frameworks.state import DeviceState, States, StateStore
from lockstep.frameworks.step import (
    Call,
    Step,
    initial_snapshot,
    make_step,
    make_sums,
    model_call,
    zero_carry,
)
from lockstep.ops import Array, Ops, Snapshot

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


class StepNoise:
    """The noise that a run's optimizer adds to its steps; most add none: {}."""

    def __init__(self, spec: RunSpec, initial: Callable[[], Snapshot]) -> None:
        self._spec = spec
        adds = optimizers.adds_noise(spec.optimizer)
        self._shapes = {n: w.shape for n, w in initial().weights.items()} if adds else {}

    @property
    def width(self) -> int:
        """How many numbers a step needs."""
        return sum(math.prod(shape) for shape in self._shapes.values())

    def __call__(self, lrs: np.ndarray, first_step: int) -> dict[str, np.ndarray]:
        """Of len(lrs) steps, by weight: (n, ...) each."""
        return optimizers.step_noise(
            self._spec.optimizer, self._shapes, self._spec.seed, lrs, first_step
        )


# --- a call for each step -------------------------------------------------------------------------

Log = list[tuple[Array, Array]]  # (loss, gradient norm) of each step


def fetched(log: Log) -> dict[str, np.ndarray]:
    """What `fetch` returns."""
    values = np.array([[float(loss), float(norm)] for loss, norm in log]).reshape(-1, 2)
    return {"loss": values[:, 0], "grad_norm": values[:, 1]}


def evaluated(
    ops: Ops, task: Task, split: str, sums: Callable[[Array], tuple[Array, Array]], share: Share
) -> Sums:
    """What `evaluate` returns, from a share's `sums(rows)` of each batch."""
    totals = [0.0] * (2 + len(task.metrics))
    for block in task.evaluation_rows(split):
        for rows in ops.asarray(block):
            loss, rest = sums(rows)
            found = ops.to_numpy(rest).tolist() if task.metrics else [float(rest)]
            totals = [a + b for a, b in zip(totals, [float(loss), *found], strict=True)]
    return _as_sums(task, split, share.total(totals))


def _as_sums(task: Task, split: str, totals: Sequence[float]) -> Sums:
    """From the sum of losses, the number correct, and the sums of own metrics."""
    loss, correct, *metrics = totals
    return Sums(loss, correct, task.count(split), tuple(metrics))


class StepProgram:
    """Calls `step` and `sums` of `step.py`, or compiled forms of them, for each batch.

    `states` is given where the state is not on one device."""

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
        states: StateStore | None = None,
        notes: tuple[str, ...] = ("eager steps",),
    ) -> None:
        self.notes = notes
        self._ops, self._task, self._spec = ops, task, spec
        self._compiles = step is not None
        self._share = share or WholeBatch(ops)
        self._step = step or make_step(ops, task, spec, share=self._share)
        self._sums = sums or make_sums(ops, task, share=self._share)
        self.initial = initial or initial_snapshot(task, spec)
        self._noise = StepNoise(spec, self.initial)
        states = states or States(ops, task, spec, layout)
        self.data = states.data()
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
        if noise := self._noise(lrs, first_step):
            on_device = {name: self._ops.asarray(block) for name, block in noise.items()}
            for i, row in enumerate(numbers):
                row.append({name: block[i] for name, block in on_device.items()})
        log = []
        for i, batch in enumerate(self._ops.asarray(rows)):
            w, slots, carry, loss, norm = self._step(
                w, slots, carry, self.data["train"], batch, numbers[i], first_step + i
            )
            log.append((loss, norm))
        return DeviceState(w, slots, carry), log

    def fetch(self, log: Log) -> dict[str, np.ndarray]:
        return fetched(log)

    def evaluate(self, state: DeviceState, split: str) -> Sums:
        def sums(rows: Array) -> tuple[Array, Array]:
            return self._sums(state.weights, self.data[split], rows)

        return evaluated(self._ops, self._task, split, sums, self._share)


# --- a compiled loop of many steps ----------------------------------------------------------------

# (state, data, rows (n, b), numbers, first step, count) -> state, log (n, 2); count <= n. `numbers`
# are (n, k), or where the optimizer adds noise a tuple: k columns (n,), then {weight: (n, ...)}
Loop = Callable[..., tuple[DeviceState, Array]]
MOST_NOISE = 1 << 22  # numbers given to one call of a loop: bounds memory


LoopLog = list[tuple[Array, int]]  # logs of calls of the loop, and how many steps each had


class LoopProgram:
    """Runs many steps as one compiled loop.

    The number of steps is an argument of the loop, not part of the compiled code: the same machine
    code runs for any number of steps, so that a run divided elsewhere has the same bits.

    `compile_loop(*arguments)` returns a `Loop` for arguments of those shapes;
    `evaluate_block(weights, data, rows (n, b))` is compiled too, and returns sums of losses and
    numbers correct, each (n,). `states` is given where the state is not on one device, `call` where
    the model is other than the task's own over Ops."""

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
        states: StateStore | None = None,
        call: Call | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.notes = ("compiled loop over steps", *notes)
        self._call = call or model_call(ops, task)
        self.initial = initial
        self._ops, self._task, self._spec = ops, task, spec
        self._noise = StepNoise(spec, initial)
        width = self._noise.width
        self._longest = max(1, MOST_NOISE // width) if width else sys.maxsize
        self._capacity: dict[int, int] = {}  # batch size -> longest block
        self._compile_loop, self._evaluate_block = compile_loop, evaluate_block
        self._loops: dict[tuple[int, ...], Loop] = {}
        states = states or States(ops, task, spec, layout)
        self._data = states.data()
        self.load, self.dump = states.load, states.dump
        self.restart_carry = states.restart_carry

    def prepare(self, state: DeviceState, blocks: Sequence[np.ndarray]) -> None:
        blocks = [block[: self._longest] for block in blocks]
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
    ) -> tuple[DeviceState, LoopLog]:
        log: LoopLog = []
        for at in range(0, len(rows), self._longest):
            part = rows[at : at + self._longest]
            if len(part) > self._capacity.get(part.shape[1], 0):
                self.prepare(state, [part])
            rates = lrs[at : at + self._longest]
            arguments = self._arguments(state, part, rates, first_step + at)
            state, found = self._loops[arguments[2].shape](*arguments)
            log.append((found, len(part)))
        return state, log

    def _arguments(
        self, state: DeviceState, rows: np.ndarray, lrs: np.ndarray, first_step: int
    ) -> tuple[Any, ...]:
        spare = self._capacity[rows.shape[1]] - len(rows)

        def padded(block: np.ndarray) -> np.ndarray:
            return np.pad(block, ((0, spare), *((0, 0),) * (block.ndim - 1))) if spare else block

        def floats(block: np.ndarray) -> np.ndarray:
            return padded(block.astype(self._ops.precision))

        numbers: Any = floats(optimizers.step_numbers(self._spec.optimizer, lrs, first_step))
        if noise := self._noise(lrs, first_step):
            numbers = (*numbers.T, {name: floats(block) for name, block in noise.items()})
        count, rows = len(rows), padded(rows)
        return state, self._data["train"], rows, numbers, np.int32(first_step), np.int32(count)

    def fetch(self, log: LoopLog) -> dict[str, np.ndarray]:
        parts = [np.asarray(part, np.float64)[:count] for part, count in log]  # host sync
        values = np.concatenate(parts)
        return {"loss": values[:, 0], "grad_norm": values[:, 1]}

    def evaluate(self, state: DeviceState, split: str) -> Sums:
        totals = np.zeros(2 + len(self._task.metrics))
        for block in self._task.evaluation_rows(split):
            losses, rest = self._evaluate_block(state.weights, self._data[split], block)
            totals[0] += np.asarray(losses, np.float64).sum()
            totals[1:] += np.asarray(rest, np.float64).sum(axis=0)
        return _as_sums(self._task, split, totals.tolist())

    def outputs(self, state: DeviceState, x: np.ndarray) -> np.ndarray:
        carry = zero_carry(self._ops, self._task, len(x))
        return self._ops.to_numpy(self._call(state.weights, self._ops.asarray(x), carry)[0])
