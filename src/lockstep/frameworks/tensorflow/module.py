"""Programs of Keras models: the concise style, and a person's own model."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import tensorflow as tf
from tensorflow import keras

from lockstep.errors import InputError
from lockstep.frameworks.layout import Layout
from lockstep.frameworks.module_program import check_module, refuse_other_state, require_module
from lockstep.frameworks.protocol import Program
from lockstep.frameworks.step import Call, Update, initial_snapshot
from lockstep.frameworks.tensorflow import concise
from lockstep.frameworks.tensorflow.layout import layout
from lockstep.frameworks.tensorflow.ops import TensorFlowOps
from lockstep.frameworks.tensorflow.program import tensorflow_program
from lockstep.models.fitting import with_outputs
from lockstep.ops import Array, Arrays, Snapshot, Weights
from lockstep.optimizers import RULES

if TYPE_CHECKING:
    from lockstep.spec import RunSpec
    from lockstep.spec.parts import OptimizerPart
    from lockstep.task import Task


class _Module(NamedTuple):
    variables: dict[str, Any]  # what is trained, by the names in a snapshot
    training: Call
    evaluation: Call
    layout: Layout
    initial: Callable[[], Snapshot]


def module_program(ops: TensorFlowOps, task: Task, spec: RunSpec) -> Program:
    """The program of the task's own model, or of the concise form of its model."""
    if keras.backend.backend() != "tensorflow":
        raise InputError(
            "KERAS_BACKEND",
            keras.backend.backend(),
            "Keras computes in another framework",
            "Unset it, or use --style scratch.",
        )
    module = _own(ops, task) if task.native is not None else _concise(task, spec)
    return tensorflow_program(
        ops,
        task,
        spec,
        training=module.training,
        evaluation=module.evaluation,
        make_update=partial(_keras_update, spec.optimizer, spec.precision, module.variables),
        initial=module.initial,
        layout=module.layout,
        notes=(f"keras ({spec.optimizer.kind})",),
    )


def _concise(task: Task, spec: RunSpec) -> _Module:
    model, call = concise.build(task.model, spec.precision)
    variables = {v.path: v for v in model.trainable_variables}
    return _Module(variables, call, call, layout(task.model), initial_snapshot(task, spec))


def _own(ops: TensorFlowOps, task: Task) -> _Module:
    model = task.native
    _require_model(model, ops.precision)
    # not by path: Keras numbers layers without a name throughout a process
    variables = {f"{i}/{v.name}": v for i, v in enumerate(model.trainable_variables)}
    own: Arrays = {name: v.value.numpy().copy() for name, v in variables.items()}
    others = [tf.identity(v.value) for v in model.non_trainable_variables]
    knows_training = "training" in inspect.signature(model.call).parameters

    def stateless(w: Weights, x: Array, training: bool) -> tuple[Array, list[Array], list[Array]]:
        mode = {"training": training} if knows_training else {}
        weights = [w[name] for name in own]
        outputs, after, losses = model.stateless_call(
            weights, others, x, return_losses=True, **mode
        )
        return outputs, after, losses

    def call(w: Weights, x: Array, carry: Weights, training: bool) -> tuple[Array, Weights]:
        return with_outputs(stateless(w, x, training)[0]), carry

    x, w = ops.asarray(task.splits["train"]["x"][:1]), {n: v.value for n, v in variables.items()}
    check_module(task, model, lambda x: stateless(w, ops.asarray(x), training=False)[0])
    _, after, losses = stateless(w, x, training=True)
    changed = [
        v.path
        for v, old, new in zip(model.non_trainable_variables, others, after, strict=True)
        if new is not old
    ]
    refuse_other_state(changed)
    if losses:
        problem, remedy = "adds losses of its own", "Use the optimizer's weight_decay instead."
        raise InputError("model", "a regularizer", problem, remedy)
    calls = partial(call, training=True), partial(call, training=False)
    return _Module(variables, *calls, Layout(), lambda: Snapshot(own))


def _require_model(model: Any, precision: str) -> None:
    require_module(model, keras.layers.Layer, "Keras model")
    if not model.trainable_variables:
        remedy = "Give it an Input, or call it once."
        raise InputError("model", model.name, "has no weights yet", remedy)
    for variable in model.trainable_variables:
        if variable.dtype != precision:
            raise InputError(
                "precision",
                precision,
                f"the model's {variable.path} is {variable.dtype}",
                f"Give {variable.dtype}, or build the model with dtype={precision!r}.",
            )


def _keras_update(part: OptimizerPart, precision: str, variables: dict[str, Any]) -> Update:
    """Keras' optimizer as a function. On TensorFlow it has no stateless form, so it works on
    variables of its own, which every step fills anew."""
    options: Any = part
    now: dict[str, Any] = {}  # Keras asks for the rate: given a new function, it calls the old one
    rule = concise.optimizer(part, lambda: now["rate"], precision)
    decay = part.weight_decay if RULES[part.kind].decays_gradient else 0.0
    places = {n: keras.Variable(tf.zeros(v.shape, v.dtype)) for n, v in variables.items()}
    rule.build(list(places.values()))
    kept = {
        f"{slot}/{name}": variable
        for slot, attribute in concise.SLOTS.get(part.kind, {}).items()
        for name, variable in zip(places, getattr(rule, attribute), strict=False)
    }
    # Keras' momentum holds the rates of past steps: at rate 1, and from 0, it is -velocity
    momentum = part.kind in ("momentum", "nesterov")
    sign = -1 if momentum else 1

    def update(
        w: Weights, grads: Weights, slots: Weights, numbers: Array, t: Array
    ) -> tuple[Weights, Weights]:
        grads = {n: grads[n] + decay * w[n] if decay else grads[n] for n in places}
        for name, place in places.items():
            place.assign(tf.zeros_like(w[name]) if momentum else w[name])
        for name, variable in kept.items():
            variable.assign(sign * slots[name])
        rule.iterations.assign(t)
        now["rate"] = 1.0 if momentum else numbers[0]
        if part.kind in ("adam", "adamw"):
            # Keras adds eps to a root that is not yet corrected, which is then a factor away
            step = RULES[part.kind].step(*tf.unstack(numbers))
            rule.epsilon = options.eps * tf.sqrt(step.correction2)
        rule.apply(list(grads.values()), list(places.values()))
        after = {n: tf.identity(place.value) for n, place in places.items()}
        if momentum:
            after = {n: w[n] + numbers[0] * moved for n, moved in after.items()}
        # without momentum Keras keeps no slots, and the velocity is the gradient
        own = {f"velocity/{n}": g for n, g in grads.items()} if momentum else {}
        return after, own | {name: sign * tf.identity(v.value) for name, v in kept.items()}

    return update
