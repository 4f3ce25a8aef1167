"""Programs of Flax modules: the concise style, and a person's own linen or nnx module."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from flax import errors, linen, nnx, traverse_util

from lockstep.frameworks.jax import concise
from lockstep.frameworks.jax.layout import layout
from lockstep.frameworks.jax.ops import JaxOps
from lockstep.frameworks.jax.program import jax_program
from lockstep.frameworks.layout import Layout
from lockstep.frameworks.module_program import check_module, refuse_other_state, require_module
from lockstep.frameworks.programs import LoopProgram
from lockstep.frameworks.step import Call, Update, initial_snapshot
from lockstep.models.fitting import with_outputs
from lockstep.models.layers import Convolution
from lockstep.ops import Array, Snapshot, Weights

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.task import Task


@dataclass(frozen=True)
class _Module:
    call: Call
    layout: Layout
    initial: Callable[[], Snapshot]
    notes: tuple[str, ...] = ()


def module_program(ops: JaxOps, task: Task, spec: RunSpec) -> LoopProgram:
    """The program of the task's own module, or of the concise form of its model."""
    module = _own(ops, task, spec) if task.native is not None else _concise(ops, task, spec)
    return jax_program(
        ops,
        task,
        spec,
        call=module.call,
        update=_optax_update(ops, spec),
        initial=module.initial,
        layout=module.layout,
        notes=(f"flax and optax ({spec.optimizer.kind})", *module.notes),
    )


def _concise(ops: JaxOps, task: Task, spec: RunSpec) -> _Module:
    convolution = ops.fused.get("layer_convolution")
    _, call = concise.build(task.model, convolution)
    layers = getattr(task.model, "layers", ())
    used = convolution and any(isinstance(layer, Convolution) for layer in layers)
    notes = ("convolutions as matrix products",) if used else ()
    return _Module(call, layout(task.model), initial_snapshot(task, spec), notes)


def _own(ops: JaxOps, task: Task, spec: RunSpec) -> _Module:
    module = task.native
    require_module(module, (linen.Module, nnx.Module), "Flax module")
    if isinstance(module, linen.Module):
        x = ops.asarray(task.splits["train"]["x"][:1])
        variables = module.init(jax.random.key(spec.seed), x)
        refuse_other_state(set(variables) - {"params"})
        try:
            jax.eval_shape(module.apply, variables, x)
        except errors.InvalidRngError:
            refuse_other_state({"a generator of random numbers"})
        params, apply = variables["params"], lambda tree, x: module.apply({"params": tree}, x)
    else:
        graph, state, *others = nnx.split(module, nnx.Param, ...)
        rest = others[0]
        refuse_other_state({str(path) for path, _ in nnx.to_flat_state(rest)})
        params = nnx.to_pure_dict(state)

        def apply(tree: Any, x: Array) -> Array:
            own = nnx.clone(state) if hasattr(nnx, "clone") else state
            nnx.replace_by_pure_dict(own, tree)
            return nnx.merge(graph, own, rest)(x)

    # nnx numbers the members of a list: such keys are kept apart from names by their type
    paths = {"/".join(map(str, path)): path for path in traverse_util.flatten_dict(params)}
    own = {
        name: np.array(value)
        for name, value in zip(paths, traverse_util.flatten_dict(params).values(), strict=True)
    }

    def call(w: Weights, x: Array, carry: Weights) -> tuple[Array, Weights]:
        tree = traverse_util.unflatten_dict({paths[name]: value for name, value in w.items()})
        return with_outputs(apply(tree, x)), carry

    w = {name: ops.asarray(value) for name, value in own.items()}
    check_module(task, module, lambda x: jax.eval_shape(lambda: call(w, ops.asarray(x), {})[0]))
    return _Module(call, Layout(), lambda: Snapshot(own))


def _optax_update(ops: JaxOps, spec: RunSpec) -> Update:
    rule = concise.optimizer(spec.optimizer)

    def update(
        w: Weights, grads: Weights, slots: Weights, numbers: Array, t: Array
    ) -> tuple[Weights, Weights]:
        # powers of a whole number are float64 or float32 by a setting of the whole process
        state = jax.tree.map(ops.floating, concise.optimizer_state(rule.init(w), slots, t))
        updates, state = rule.update(grads, state, w)
        w = {name: value + numbers[0] * updates[name] for name, value in w.items()}
        return w, concise.optimizer_slots(state)

    return update
