"""Many steps as one compiled loop.

The loop's length is an argument, not part of the compiled code: the same machine code runs
whatever number of steps is asked for, so that cutting a run elsewhere changes no bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from lockstep import optimizers
from lockstep.frameworks.jax.ops import JaxOps
from lockstep.frameworks.layout import Layout
from lockstep.frameworks.protocol import Array, Snapshot, Sums, Weights
from lockstep.frameworks.step import device_data, zero_carry

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class JaxState:
    """Weights, optimizer slots and carried state as JAX arrays."""

    weights: Weights
    slots: Weights
    carry: Weights


class JaxProgram:
    """`step` and `sums` (see frameworks/step.py) compiled over blocks of rows."""

    def __init__(
        self,
        ops: JaxOps,
        task: Task,
        spec: RunSpec,
        step: Callable[..., Any],
        sums: Callable[..., Any],
        initial: Callable[[], Snapshot],
        layout: Layout | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.notes = ("compiled loop over steps", *notes)
        self.initial = initial
        self._ops, self._task, self._spec = ops, task, spec
        self._layout = layout or Layout()
        self._data = device_data(ops, task)
        self._capacity: dict[int, int] = {}
        self._run = jax.jit(self._loop(step))
        self._compiled: dict[tuple[int, ...], Callable[..., Any]] = {}
        self._evaluate = jax.jit(lambda w, data, rows: lax.map(lambda r: sums(w, data, r), rows))

    def _loop(self, step: Callable[..., Any]) -> Callable[..., Any]:
        dtype = self._ops.dtype

        def loop(
            state: JaxState, data: Weights, rows: Array, numbers: Array, first: Array, count: Array
        ) -> tuple[JaxState, Array]:
            numbers = numbers.astype(dtype)

            def body(i: Array, carried: tuple[JaxState, Array]) -> tuple[JaxState, Array]:
                own, log = carried
                w, slots, carry, loss, norm = step(
                    own.weights, own.slots, own.carry, data, rows[i], numbers[i], first + i
                )
                return JaxState(w, slots, carry), log.at[i].set(jnp.stack([loss, norm]))

            log = jnp.zeros((rows.shape[0], 2), dtype)
            return lax.fori_loop(0, count, body, (state, log))

        return loop

    def prepare(self, state: JaxState, blocks: Sequence[np.ndarray]) -> None:
        for block in blocks:
            steps, batch = block.shape
            self._capacity[batch] = max(steps, self._capacity.get(batch, 0))
        for block in blocks:
            arguments = self._arguments(state, block, np.zeros(len(block)), 0)
            key = arguments[2].shape
            if key not in self._compiled:
                self._compiled[key] = self._run.lower(*arguments).compile()

    def load(self, snapshot: Snapshot) -> JaxState:
        full = self._task.complete(snapshot, self._spec)
        weights = self._layout.to_native(full.weights)
        groups = [weights, self._layout.slots_to_native(full.slots), full.carry]
        return JaxState(*({n: self._ops.asarray(v) for n, v in g.items()} for g in groups))

    def dump(self, state: JaxState) -> Snapshot:
        weights, slots, carry = (
            {name: np.array(value) for name, value in group.items()}
            for group in (state.weights, state.slots, state.carry)
        )
        weights = self._layout.from_native(weights)
        return Snapshot(weights, self._layout.slots_from_native(slots), carry)

    def restart_carry(self, state: JaxState) -> JaxState:
        return replace(state, carry=zero_carry(self._ops, self._task, self._spec.batch_size))

    def steps(
        self, state: JaxState, rows: np.ndarray, lrs: np.ndarray, first_step: int
    ) -> tuple[JaxState, tuple[Array, int]]:
        if len(rows) > self._capacity.get(rows.shape[1], 0):
            self.prepare(state, [rows])
        arguments = self._arguments(state, rows, lrs, first_step)
        state, log = self._compiled[arguments[2].shape](*arguments)
        return state, (log, len(rows))

    def _arguments(
        self, state: JaxState, rows: np.ndarray, lrs: np.ndarray, first_step: int
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

    def evaluate(self, state: JaxState, split: str) -> Sums:
        loss = correct = 0.0
        for block in self._task.evaluation_rows(split):
            losses, corrects = self._evaluate(state.weights, self._data[split], block)
            loss += float(np.asarray(losses, np.float64).sum())
            correct += float(np.asarray(corrects, np.float64).sum())
        return Sums(loss, correct, self._task.count(split))
