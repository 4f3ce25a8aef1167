"""Many steps as one fori_loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import lax

from lockstep.frameworks.compiled import CompiledProgram, Loop
from lockstep.frameworks.jax.ops import JaxOps
from lockstep.frameworks.layout import Layout
from lockstep.frameworks.protocol import Array, Snapshot, Weights
from lockstep.frameworks.state import DeviceState

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


def jax_program(
    ops: JaxOps,
    task: Task,
    spec: RunSpec,
    *,
    step: Callable[..., Any],
    sums: Callable[..., Any],
    initial: Callable[[], Snapshot],
    layout: Layout | None = None,
    notes: tuple[str, ...] = (),
) -> CompiledProgram:
    """`step` and `sums` (see frameworks/step.py) compiled over blocks of rows."""
    run = jax.jit(_loop(ops, step))

    def compile_loop(*arguments: Any) -> Loop:
        return run.lower(*arguments).compile()

    return CompiledProgram(
        ops,
        task,
        spec,
        compile_loop=compile_loop,
        evaluate_block=jax.jit(lambda w, data, rows: lax.map(lambda r: sums(w, data, r), rows)),
        initial=initial,
        layout=layout,
        notes=notes,
    )


def _loop(ops: JaxOps, step: Callable[..., Any]) -> Loop:
    def loop(
        state: DeviceState, data: Weights, rows: Array, numbers: Array, first: Array, count: Array
    ) -> tuple[DeviceState, Array]:
        def body(i: Array, carried: tuple[DeviceState, Array]) -> tuple[DeviceState, Array]:
            own, log = carried
            w, slots, carry, loss, norm = step(*own, data, rows[i], numbers[i], first + i)
            return DeviceState(w, slots, carry), log.at[i].set(jnp.stack([loss, norm]))

        log = jnp.zeros((rows.shape[0], 2), ops.dtype)
        return lax.fori_loop(0, count, body, (state, log))

    return loop
