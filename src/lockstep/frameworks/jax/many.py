"""Many settings trained at once: one compiled loop, mapped over settings, on every core.

The settings are cut into slices of equal width. A slice is one call, mapped over its settings;
slices are called from as many threads as there are cores, with the same compiled code. Small
models get wide slices, where a step costs little more than that of one setting. Where the states
of several settings no longer fit the cache, a wide slice is slower than its settings in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import ceil
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from lockstep import optimizers
from lockstep.frameworks.fused import fused_notes
from lockstep.frameworks.jax.ops import JaxOps
from lockstep.frameworks.jax.program import scanned
from lockstep.frameworks.protocol import Sums
from lockstep.frameworks.state import DeviceState
from lockstep.frameworks.step import make_step, make_sums
from lockstep.ops import Array, Arrays, Snapshot, Weights
from lockstep.processes import threads

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task

CACHED = 1 << 16  # bytes of state that a slice may have; a GRU of 64 units is fastest alone
ONE_CORE: dict[str, str | bool] = {
    "xla_cpu_multi_thread_eigen": False
}  # the cores have slices of their own

State = list[DeviceState]  # of every slice, its arrays (width, ...)


class ManyJax:
    """The program of `count` settings that differ in schedule and seed."""

    def __init__(self, ops: JaxOps, task: Task, spec: RunSpec, count: int) -> None:
        self._ops, self._task, self._spec, self._count = ops, task, spec, count
        self._slices, self._width = _cut(task, spec, count)
        self.notes = (
            f"{count} settings in {self._slices} compiled loops over steps",
            *fused_notes(ops, task.model),
        )
        step = make_step(ops, task, spec, in_parts=scanned)
        mapped = jax.vmap if self._width > 1 else _unmapped
        self._run = {
            own: jax.jit(_loop(ops, mapped(step, (0, 0, 0, None, 0 if own else None, 0, None))))
            for own in (False, True)
        }
        sums = jax.vmap(make_sums(ops, task), (0, None, None))
        self._sums = jax.jit(
            lambda w, data, rows: lax.map(lambda batch: sums(w, data, batch), rows)
        )
        self._compiled: dict[Any, Callable[..., Any]] = {}
        self._prepared: set[Any] = set()
        # batch size -> longest block: shorter calls are filled up, and run the same machine code
        self._capacity = {block.shape[1]: len(block) for block in task.plan.epoch(0)}
        self._data = {
            split: {name: ops.asarray(value) for name, value in arrays.items()}
            for split, arrays in task.splits.items()
        }
        self._pool = ThreadPoolExecutor(min(self._slices, threads.count()))

    def load(self, snapshots: Sequence[Snapshot]) -> State:
        # settings of one seed have one snapshot: it is completed once
        distinct = {id(s): s for s in snapshots}
        whole = {key: self._task.complete(s, self._spec) for key, s in distinct.items()}
        full = [whole[id(s)] for s in snapshots]
        return [
            DeviceState(
                *(
                    self._stacked([getattr(s, group) for s in part])
                    for group in ("weights", "slots", "carry")
                )
            )
            for part in self._parts(full)
        ]

    def dump(self, state: State) -> list[Snapshot]:
        found = []
        for part in state:
            groups = [{name: np.array(value) for name, value in g.items()} for g in part]
            found += [
                Snapshot(*({name: value[i] for name, value in g.items()} for g in groups))
                for i in range(self._width)
            ]
        return found[: self._count]

    def restart_carry(self, state: State) -> State:
        return [s._replace(carry={n: jnp.zeros_like(v) for n, v in s.carry.items()}) for s in state]

    def prepare(self, state: State, blocks: Sequence[np.ndarray]) -> None:
        for block in blocks:
            if (block.ndim == 3, block.shape) not in self._prepared:
                rates = np.zeros((len(block), self._count))
                self._loop(block.ndim == 3, self._arguments(state, block, rates, 0)[0])
                self._prepared.add((block.ndim == 3, block.shape))

    def steps(
        self, state: State, rows: np.ndarray, lrs: np.ndarray, first_step: int
    ) -> tuple[State, tuple[list[Array], int]]:
        arguments = self._arguments(state, rows, lrs, first_step)
        call = self._loop(rows.ndim == 3, arguments[0])
        if len(arguments) == 1:
            found = [call(*arguments[0])]
        else:
            found = list(self._pool.map(lambda a: jax.block_until_ready(call(*a)), arguments))
        return [s for s, _ in found], ([log for _, log in found], len(rows))

    def _arguments(
        self, state: State, rows: np.ndarray, lrs: np.ndarray, first_step: int
    ) -> list[tuple[Any, ...]]:
        """Those of the loop, for every slice."""
        first, count = np.int32(first_step), np.int32(len(rows))
        same = optimizers.step_numbers(self._spec.optimizer, lrs[:, 0], first_step)  # (n, k)
        numbers = np.repeat(same[:, None], lrs.shape[1], axis=1)  # (n, S, k)
        numbers[:, :, 0] = lrs  # all but the rate depend on the step alone
        numbers = numbers.astype(self._ops.precision)
        spare = max(0, self._capacity.get(rows.shape[-1], 0) - len(rows))
        rows, numbers = _filled_up(rows, spare), _filled_up(numbers, spare)
        own = rows.ndim == 3  # (n, S, b): every setting has batches of its own
        return [
            (part, self._data["train"], self._own(rows, i) if own else rows, n, first, count)
            for i, (part, n) in enumerate(zip(state, self._parts_of(numbers), strict=True))
        ]

    def fetch(self, log: tuple[list[Array], int]) -> np.ndarray:
        parts, count = log
        values = np.concatenate([np.asarray(part, np.float64) for part in parts], axis=1)
        return values[:count, : self._count]

    def evaluate(self, state: State, split: str) -> list[Sums]:
        totals = np.zeros((2, self._slices * self._width))
        for block in self._task.evaluation_rows(split):
            parts = self._pool.map(lambda s, b=block: self._sum_block(s, split, b), state)
            totals += np.concatenate(list(parts), axis=1)
        count = self._task.count(split)
        return [Sums(float(a), float(b), count) for a, b in totals.T[: self._count]]

    def _sum_block(self, state: DeviceState, split: str, block: np.ndarray) -> np.ndarray:
        found = self._sums(state.weights, self._data[split], block)  # each (n, width)
        return np.stack([np.asarray(each, np.float64).sum(0) for each in found])

    # --- slices: the last one is filled up with copies of the last setting ------------------------

    def _parts(self, items: list[Any]) -> list[list[Any]]:
        full = items + [items[-1]] * (self._slices * self._width - len(items))
        return [full[i : i + self._width] for i in range(0, len(full), self._width)]

    def _parts_of(self, values: np.ndarray) -> list[np.ndarray]:
        """(n, S, ...) in slices along the settings."""
        spare = self._slices * self._width - values.shape[1]
        if spare:
            values = np.concatenate([values, np.repeat(values[:, -1:], spare, axis=1)], axis=1)
        return np.split(values, self._slices, axis=1)

    def _own(self, rows: np.ndarray, i: int) -> np.ndarray:
        return self._parts_of(rows)[i]

    def _stacked(self, groups: list[Arrays]) -> Weights:
        # memory that nobody else has: no copy is needed
        stacks = {n: np.stack([g[n] for g in groups]) for n in groups[0]}
        return {n: jax.device_put(s.astype(self._ops.precision)) for n, s in stacks.items()}

    def _loop(self, own: bool, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        key = (own, arguments[2].shape)
        if key not in self._compiled:
            options = ONE_CORE if self._slices > 1 else None
            lowered = self._run[own].lower(*arguments)
            self._compiled[key] = lowered.compile(compiler_options=options)
        return self._compiled[key]


def _unmapped(function: Callable[..., Any], axes: tuple[int | None, ...]) -> Callable[..., Any]:
    """vmap over an axis of length 1: the function itself, whose code has no axis to carry along."""

    def call(*arguments: Any) -> Any:
        own = [
            value if axis is None else jax.tree.map(lambda x: x[0], value)
            for value, axis in zip(arguments, axes, strict=True)
        ]
        return jax.tree.map(lambda x: x[None], function(*own))

    return call


def _filled_up(values: np.ndarray, spare: int) -> np.ndarray:
    return np.pad(values, ((0, spare), *((0, 0),) * (values.ndim - 1))) if spare else values


def _cut(task: Task, spec: RunSpec, count: int) -> tuple[int, int]:
    """How many slices there are, and the settings of each."""
    weights = task.model.initial_weights(spec.seed)
    shapes = [w.shape for w in weights.values()] * (1 + len(optimizers.slot_names(spec.optimizer)))
    shapes += task.model.carry_shapes(spec.batch_size).values()
    size = sum(int(np.prod(shape)) for shape in shapes) * np.dtype(spec.precision).itemsize
    slices = ceil(count / max(1, CACHED // max(1, size)))
    return slices, ceil(count / slices)


def _loop(ops: JaxOps, step: Callable[..., Any]) -> Callable[..., Any]:
    """As that of program.py, of all settings of a slice: log (n, width)."""

    def at(block: Array, i: Array) -> Array:
        return lax.dynamic_index_in_dim(block, i, keepdims=False, allow_negative_indices=False)

    def loop(
        state: DeviceState, data: Weights, rows: Array, numbers: Array, first: Array, count: Array
    ) -> tuple[DeviceState, Array]:
        def body(i: Array, carried: tuple[DeviceState, Array]) -> tuple[DeviceState, Array]:
            own, log = carried
            w, slots, carry, loss, _ = step(*own, data, at(rows, i), at(numbers, i), first + i)
            logged = lax.dynamic_update_index_in_dim(log, loss, i, 0)
            return DeviceState(w, slots, carry), logged

        log = jnp.zeros((rows.shape[0], numbers.shape[1]), ops.dtype)
        return lax.fori_loop(0, count, body, (state, log))

    return loop
