"""Many steps as one while_loop in a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from lockstep.frameworks.layout import Layout
from lockstep.frameworks.programs import Loop, LoopProgram
from lockstep.frameworks.protocol import Program
from lockstep.frameworks.state import DeviceState
from lockstep.frameworks.step import Call, Update, make_step, make_sums
from lockstep.frameworks.tensorflow.devices import logical_program, logical_replicas
from lockstep.frameworks.tensorflow.ops import TensorFlowOps
from lockstep.ops import Array, Arrays, Snapshot, Weights

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


def tensorflow_program(
    ops: TensorFlowOps,
    task: Task,
    spec: RunSpec,
    *,
    initial: Callable[[], Snapshot],
    training: Call | None = None,
    evaluation: Call | None = None,
    make_update: Callable[[], Update] | None = None,
    layout: Layout | None = None,
    notes: tuple[str, ...] = (),
) -> Program:
    """The step and sums of frameworks/step.py compiled over blocks of rows; on several devices
    compiled step by step. `make_update` is called once for each device."""
    if spec.devices > 1:
        replicas = logical_replicas(task, spec, training, evaluation, make_update)
        return logical_program(replicas, task, spec, initial, layout, notes)
    step = make_step(ops, task, spec, training, make_update() if make_update else None)
    sums = make_sums(ops, task, evaluation)
    # inside a loop XLA's convolutions are ten times slower than TensorFlow's; the rest is faster
    xla = not _convolves(ops, task, sums, (layout or Layout()).to_native(initial().weights))
    run = tf.function(_loop(step, ops.dtype), jit_compile=xla, autograph=False)

    def compile_loop(*arguments: Any) -> Loop:
        loop: Loop = run.get_concrete_function(*arguments)
        loop(*arguments[:-1], np.int32(0))  # compiled at the first call: of no steps
        return loop

    @tf.function(autograph=False)  # XLA takes longer to compile it than it saves
    def evaluate(w: Weights, data: Weights, rows: Array) -> tuple[Array, Array]:
        return tf.map_fn(
            lambda r: sums(w, data, r), rows, fn_output_signature=(ops.dtype, ops.dtype)
        )

    def evaluate_block(*arguments: Any) -> tuple[Array, Array]:
        # called directly, it would warn of having traced a graph for each shape of rows
        sums: tuple[Array, Array] = evaluate.get_concrete_function(*arguments)(*arguments)
        return sums

    return LoopProgram(
        ops,
        task,
        spec,
        compile_loop=compile_loop,
        evaluate_block=evaluate_block,
        initial=initial,
        layout=layout,
        call=evaluation,
        notes=("by XLA" if xla else "as a graph: it convolves", *notes),
    )


def _loop(step: Callable[..., Any], dtype: Any) -> Loop:
    def loop(
        state: DeviceState, data: Weights, rows: Array, numbers: Any, first: Array, count: Array
    ) -> tuple[DeviceState, Array]:
        def body(i: Array, state: DeviceState, log: Array) -> tuple[Array, DeviceState, Array]:
            now = tf.nest.map_structure(lambda block: block[i], numbers)
            w, slots, carry, loss, norm = step(*state, data, rows[i], now, first + i)
            log = tf.tensor_scatter_nd_update(log, [[i]], [tf.stack([loss, norm])])
            return i + 1, DeviceState(w, slots, carry), log

        log = tf.zeros((rows.shape[0], 2), dtype)
        _, state, log = tf.while_loop(lambda i, *_: i < count, body, (0, state, log))
        return state, log

    return loop


def _convolves(ops: TensorFlowOps, task: Task, sums: Callable[..., Any], weights: Arrays) -> bool:
    """Whether there is a convolution in the model, seen in its graph."""
    w = {name: ops.asarray(value) for name, value in weights.items()}
    data = {name: ops.asarray(value[:1]) for name, value in task.splits["train"].items()}
    traced = tf.function(sums, autograph=False).get_concrete_function(w, data, ops.asarray([0]))
    return any(node.type.startswith("Conv") for node in traced.graph.get_operations())
