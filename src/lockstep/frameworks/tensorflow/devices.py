"""Several devices as TensorFlow's logical devices, each with a replica.

A step is one graph over all of them. Steps are not in a loop, as TensorFlow keeps what a loop
carries from one step to the next on one device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from lockstep.errors import StartedError
from lockstep.frameworks.layout import Layout
from lockstep.frameworks.programs import StepProgram
from lockstep.frameworks.replicas import (
    Replica,
    ReplicatedStates,
    Sums,
    make_replica,
    make_replicated_step,
    make_replicated_sums,
)
from lockstep.frameworks.step import Call, Step, Update
from lockstep.frameworks.tensorflow.ops import TensorFlowOps
from lockstep.ops import Array, Snapshot

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


def show_devices(count: int) -> None:
    """Show the CPU as `count` devices, unless there are as many GPUs."""
    if count == 1 or len(tf.config.list_physical_devices("GPU")) >= count:
        return
    cpu = tf.config.list_physical_devices("CPU")[0]
    if len(tf.config.get_logical_device_configuration(cpu) or ()) >= count:
        return
    try:
        tf.config.set_logical_device_configuration(
            cpu, [tf.config.LogicalDeviceConfiguration()] * count
        )
    except RuntimeError as error:
        there = len(tf.config.list_logical_devices("CPU"))
        raise StartedError("tensorflow", count, there) from error


def logical_replicas(
    task: Task,
    spec: RunSpec,
    training: Call | None,
    evaluation: Call | None,
    make_update: Callable[[], Update] | None,
) -> list[Replica]:
    """One replica on each of the first devices: GPUs if there are enough, else the CPU's."""
    kinds = ("GPU", "CPU")
    kind = next(k for k in kinds if len(tf.config.list_logical_devices(k)) >= spec.devices)
    return [
        _replica(f"{kind}:{i}", task, spec, training, evaluation, make_update)
        for i in range(spec.devices)
    ]


def logical_program(
    replicas: Sequence[Replica],
    task: Task,
    spec: RunSpec,
    initial: Callable[[], Snapshot],
    layout: Layout | None,
    notes: tuple[str, ...],
) -> StepProgram:
    """The program of these replicas, a graph for each step."""
    several = f"{spec.devices} devices in one process: logical devices"
    return StepProgram(
        replicas[0].ops,
        task,
        spec,
        step=_compiled_step(make_replicated_step(replicas), spec.precision),
        sums=_compiled_sums(make_replicated_sums(replicas)),
        states=ReplicatedStates(replicas, task, spec, layout),
        initial=initial,
        notes=("compiled steps", "as graphs: XLA compiles for one device", *notes, several),
    )


def _compiled_step(step: Step, precision: str) -> Step:
    run = tf.function(step, autograph=False)
    graphs: dict[int, Callable[..., Any]] = {}  # called directly, it would warn of each new shape

    def compiled(
        w: Any, slots: Any, carry: Any, data: Any, rows: Array, numbers: Any, t: int
    ) -> Any:
        *plain, last = numbers
        if isinstance(last, dict):  # the noise of each weight
            own: Any = (*(tf.constant(n, precision) for n in plain), last)
        else:
            own = tf.constant(numbers, precision)
        given = (w, slots, carry, data, rows, own, tf.constant(t))
        if rows.shape[0] not in graphs:
            graphs[rows.shape[0]] = run.get_concrete_function(*given)
        return graphs[rows.shape[0]](*given)

    return compiled


def _compiled_sums(sums: Sums) -> Sums:
    run = tf.function(sums, autograph=False)

    def compiled(*given: Any) -> Any:
        return run.get_concrete_function(*given)(*given)

    return compiled


def _replica(
    device: str,
    task: Task,
    spec: RunSpec,
    training: Call | None,
    evaluation: Call | None,
    make_update: Callable[[], Update] | None,
) -> Replica:
    def on_device() -> Any:
        return tf.device(device)

    ops = TensorFlowOps(spec.precision, spec.fused)
    with on_device():  # an optimizer's variables
        update = make_update() if make_update else None
    return make_replica(
        ops,
        task,
        spec,
        _copied,
        on_device=on_device,
        call=training,
        evaluation=evaluation,
        update=update,
    )


def _copied(x: Array) -> Array:
    # tf.identity hands the same memory from one CPU device to the next
    return tf.raw_ops.DeepCopy(x=x)
