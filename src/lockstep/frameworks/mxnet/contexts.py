"""Several devices as MXNet's contexts. Its engine computes on them at the same time, as long as
nothing waits for a result: within a step nothing does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lockstep.frameworks.eager import EagerProgram
from lockstep.frameworks.mxnet.ops import MxnetOps
from lockstep.frameworks.mxnet.quiet import mx
from lockstep.frameworks.mxnet.recording import compile_function
from lockstep.frameworks.replicas import Replica, make_replica
from lockstep.frameworks.replicated import replicated_program
from lockstep.frameworks.step import Update, make_sums, rule_update
from lockstep.ops import Array, Weights
from lockstep.task import OwnNet

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


def contexts_program(task: Task, spec: RunSpec, notes: tuple[str, ...]) -> EagerProgram:
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

    def receive(x: Array) -> Array:
        return x.copyto(context)

    if not compiled:
        return make_replica(ops, task, spec, receive, here=lambda: context)
    return make_replica(
        ops,
        task,
        spec,
        receive,
        here=lambda: context,
        update=compiled_update(ops, spec),
        sums=compile_function(ops, make_sums(ops, task)),
    )


def compiled_update(ops: MxnetOps, spec: RunSpec) -> Update:
    """The optimizer's rule as one graph."""
    rule = rule_update(ops, spec)
    run = compile_function(ops, lambda w, grads, slots, numbers: rule(w, grads, slots, numbers, 0))

    def update(
        w: Weights, grads: Weights, slots: Weights, numbers: list[float], t: Any
    ) -> tuple[Weights, Weights]:
        # asarray would wait for the steps under way
        arrays = [mx.np.full((), n, dtype=ops.dtype, ctx=ops.device) for n in numbers]
        new: tuple[Weights, Weights] = run(w, grads, slots, arrays)
        return new

    return update
