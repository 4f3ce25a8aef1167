"""Many steps as one fori_loop, on one device or on each of several."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import lax

from lockstep.frameworks.device_share import Part
from lockstep.frameworks.jax.devices import AXIS, DeviceMesh, MeshShare
from lockstep.frameworks.jax.ops import JaxOps
from lockstep.frameworks.layout import Layout
from lockstep.frameworks.micro_batches import PartGradient
from lockstep.frameworks.programs import Loop, LoopProgram
from lockstep.frameworks.state import DeviceState
from lockstep.frameworks.step import Call, Update, make_step, make_sums
from lockstep.ops import Array, Ops, Snapshot, Weights

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


def jax_program(
    ops: JaxOps,
    task: Task,
    spec: RunSpec,
    *,
    initial: Callable[[], Snapshot],
    call: Call | None = None,
    update: Update | None = None,
    layout: Layout | None = None,
    notes: tuple[str, ...] = (),
) -> LoopProgram:
    """The step and sums of frameworks/step.py compiled over blocks of rows."""
    mesh = DeviceMesh(spec.devices) if spec.devices > 1 else None
    share = MeshShare(ops, spec.devices, spec.batch_size) if mesh else None
    everywhere = mesh.everywhere if mesh else lambda function: function
    step = make_step(ops, task, spec, call, update, share, scanned)
    run = jax.jit(everywhere(_loop(ops, step)))
    sums = make_sums(ops, task, call, share)

    def compile_loop(*arguments: Any) -> Loop:
        return run.lower(*arguments).compile()

    def evaluate(w: Weights, data: Weights, rows: Array) -> tuple[Array, Array]:
        found: tuple[Array, Array] = lax.map(lambda own: sums(w, data, own), rows)
        return lax.psum(found, AXIS) if mesh else found

    return LoopProgram(
        ops,
        task,
        spec,
        compile_loop=compile_loop,
        evaluate_block=jax.jit(everywhere(evaluate)),
        initial=initial,
        layout=layout,
        states=mesh.states(ops, task, spec, layout) if mesh else None,
        call=call,
        notes=(*notes, *_devices_note(spec)),
    )


def scanned(
    ops: Ops, part: Part, start: Weights, count: int, gradient: PartGradient
) -> tuple[Array, Weights, Weights]:
    """Micro-batches as a loop, filled up to equal sizes: XLA would compute them side by side."""
    there = part.rows.shape[0]
    count = min(count, there)
    size = -(-there // count)
    spare = size * count - there

    def cut(x: Array) -> Array:
        filled = jnp.concatenate([x, jnp.broadcast_to(x[:1], (spare, *x.shape[1:]))])
        return filled.reshape(count, size, *x.shape[1:])

    mask = part.mask
    if mask is not None or spare:
        mask = ops.zeros((there,)) + 1 if mask is None else mask
        mask = jnp.pad(mask, (0, spare)).reshape(count, size)

    def of_part(own: Any) -> tuple[Array, Weights, Weights]:
        rows, counts, begin = own
        return gradient(0, Part(rows, part.count, counts), begin)

    def add(sums: Any, own: Any) -> tuple[Any, Weights]:
        value, after, grads = of_part(own)
        return jax.tree.map(jnp.add, sums, (value, grads)), after

    parts = cut(part.rows), mask, {name: cut(value) for name, value in start.items()}
    value, _, grads = jax.eval_shape(of_part, jax.tree.map(lambda x: x[0], parts))
    zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), (value, grads))
    (loss, sums), after = lax.scan(add, zeros, parts)
    carry = {n: h.reshape(-1, *h.shape[2:])[:there] for n, h in after.items()}
    return loss, carry, sums


def _devices_note(spec: RunSpec) -> tuple[str, ...]:
    if spec.devices == 1:
        return ()
    apart = jax.process_count() > 1
    where = "processes: jax.distributed" if apart else "devices in one process: jax.shard_map"
    return (f"{spec.devices} {where}",)


def _loop(ops: JaxOps, step: Callable[..., Any]) -> Loop:
    def at(block: Array, i: Array) -> Array:  # block[i] would look for negative i in every step
        return lax.dynamic_index_in_dim(block, i, keepdims=False, allow_negative_indices=False)

    def loop(
        state: DeviceState, data: Weights, rows: Array, numbers: Any, first: Array, count: Array
    ) -> tuple[DeviceState, Array]:
        def body(i: Array, carried: tuple[DeviceState, Array]) -> tuple[DeviceState, Array]:
            own, log = carried
            now = jax.tree.map(lambda block: at(block, i), numbers)
            w, slots, carry, loss, norm = step(*own, data, at(rows, i), now, first + i)
            logged = lax.dynamic_update_index_in_dim(log, jnp.stack([loss, norm]), i, 0)
            return DeviceState(w, slots, carry), logged

        log = jnp.zeros((rows.shape[0], 2), ops.dtype)
        return lax.fori_loop(0, count, body, (state, log))

    return loop
