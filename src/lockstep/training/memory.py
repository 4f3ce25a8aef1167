"""How far back a recurrent model remembers, by the oracle from canonical weights: what it answers
at each step, and how its last loss depends on earlier hidden states."""

from __future__ import annotations

import numpy as np

from lockstep.errors import InputError
from lockstep.frameworks.numpy.ops import NumpyOps
from lockstep.models.recurrent import scores_of
from lockstep.ops import Array, Arrays, Ops, Weights
from lockstep.task import Task


def accuracy_by_step(task: Task, weights: Arrays, split: str = "test") -> np.ndarray:
    """The share of right answers at each step of a split's sequences: (T,).

    In the data set `recall`, that of step t is how often the cue is known after t more symbols.

    >>> from lockstep import recipes
    >>> from lockstep.task import assemble
    >>> task = assemble(recipes.recall_gru(**{"data.window": 3, "data.num_sequences": 64}))
    >>> accuracy_by_step(task, task.model.initial_weights(0)).shape
    (3,)
    """
    ops, w, data = _prepared(task, weights, split)
    correct, count = 0.0, 0
    for block in task.evaluation_rows(split):
        for rows in block:
            x, y = task.batch(ops, data, ops.asarray(rows))
            outputs, _ = task.model.apply(ops, w, x, _zero_carry(ops, task, x.shape[1]))
            right = ops.to_numpy(task.correct(ops, outputs, y)).reshape(x.shape)  # (T, B)
            correct, count = correct + right.sum(axis=1), count + x.shape[1]
    return np.asarray(correct / count)


def gradient_by_distance(task: Task, weights: Arrays, split: str = "test") -> np.ndarray:
    """|dL / dH_d|, averaged over a split's sequences: (T,). L is the loss of the last step, H_d the
    hidden state d steps before it: at d = 0 the one that the last scores are made of.

    From one distance to the next it is multiplied by the derivative of one step of the model.
    """
    ops, w, data = _prepared(task, weights, split)
    totals, count = 0.0, 0
    for block in task.evaluation_rows(split):
        for rows in block:
            x, y = task.batch(ops, data, ops.asarray(rows))
            totals = totals + _norms(ops, task, w, x, y).sum(axis=1)
            count += x.shape[1]
    return np.asarray(totals / count)


def _norms(ops: Ops, task: Task, w: Weights, x: Array, y: Array) -> np.ndarray:
    """The norms of one batch of sequences: (T, B), by distance."""
    num_steps, batch = x.shape
    states = [_zero_carry(ops, task, batch)["h"]]
    for t in range(num_steps):
        states.append(task.model.apply(ops, w, x[t : t + 1], {"h": states[t]})[1]["h"])

    def last_loss(given: Weights, y: Array) -> tuple[Array, None]:
        scores = scores_of(ops, w, ops.reshape(given["h"], (1, *given["h"].shape)))
        return ops.sum(task.losses(ops, scores, y)), None

    def one_step(given: Weights, x: Array, g: Array) -> tuple[Array, None]:
        return ops.sum(g * task.model.apply(ops, w, x, given)[1]["h"]), None

    # sequences do not meet, so the gradient of a sum over them has each one's in its row
    _, grads = ops.value_and_grad(last_loss)({"h": states[-1]}, y[-1:])
    found = [grads["h"]]
    step_gradient = ops.value_and_grad(one_step)
    for t in range(num_steps - 1, 0, -1):
        _, grads = step_gradient({"h": states[t]}, x[t : t + 1], found[-1])
        found.append(grads["h"])
    return np.linalg.norm([ops.to_numpy(g) for g in found], axis=2)


def _prepared(task: Task, weights: Arrays, split: str) -> tuple[Ops, Weights, Weights]:
    if "h" not in task.model.carry_shapes(1):
        remedy = "Use rnn, gru or one-gate."
        raise InputError("model", type(task.model).__name__, "has no hidden state", remedy)
    if split not in task.splits:
        remedy = f"Give {' or '.join(task.splits)}."
        raise InputError("split", split, "is not a split of the data", remedy)
    ops = NumpyOps("float64")
    w, data = (
        {name: ops.asarray(value) for name, value in arrays.items()}
        for arrays in (weights, task.splits[split])
    )
    return ops, w, data


def _zero_carry(ops: Ops, task: Task, batch: int) -> Weights:
    return {name: ops.zeros(shape) for name, shape in task.model.carry_shapes(batch).items()}
