"""Several devices as MXNet's contexts. Its engine computes on them at the same time, as long as
nothing waits for a result: within a step nothing does."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import mxnet as mx

from lockstep.frameworks.mxnet.ops import MxnetOps
from lockstep.frameworks.mxnet.recording import compile_function, compiled_update
from lockstep.frameworks.programs import StepProgram
from lockstep.frameworks.replicas import Replica, make_replica, replicated_program
from lockstep.frameworks.step import make_sums
from lockstep.ops import Array
from lockstep.task import OwnNet

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


def show_devices(count: int) -> None:
    """Any number of CPU contexts can be used; with several, MXNet needs more scratch memory."""
    # all CPU contexts take their scratch memory in turn from as many places, four by default, and
    # wait for each other there; read when something is first computed
    if count > 1:
        os.environ.setdefault("MXNET_CPU_TEMP_COPY", str(32 * count))


def contexts_program(task: Task, spec: RunSpec, notes: tuple[str, ...]) -> StepProgram:
    """One replica in each context: GPUs if there are enough, else the CPU's."""
    on_gpus = mx.context.num_gpus() >= spec.devices
    contexts = [mx.gpu(i) if on_gpus else mx.cpu(i) for i in range(spec.devices)]
    replicas = [_replica(context, task, spec) for context in contexts]
    several = f"{spec.devices} devices in one process: contexts {contexts[0]} to {contexts[-1]}"
    return replicated_program(replicas, task, spec, (*notes, several))


def _replica(context: mx.Context, task: Task, spec: RunSpec) -> Replica:
    # a person's function may read numbers out of arrays, which a recording would keep
    compiled = not isinstance(task.model, OwnNet)
    ops = MxnetOps(spec.precision, spec.fused, context, compiled)

    def to_device(x: Array) -> Array:
        return x.copyto(context)

    if not compiled:
        return make_replica(ops, task, spec, to_device, on_device=lambda: context)
    return make_replica(
        ops,
        task,
        spec,
        to_device,
        on_device=lambda: context,
        update=compiled_update(ops, spec),
        sums=compile_function(ops, make_sums(ops, task)),
    )
