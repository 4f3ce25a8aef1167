"""The experiment run once for each question, and what one device would find, by the oracle."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from lockstep.data import ExamplePlan, fashion_mnist
from lockstep.experiments.ways_to_split.findings import Results
from lockstep.experiments.ways_to_split.measuring import run
from lockstep.experiments.ways_to_split.question import LR, Question
from lockstep.frameworks.numpy.ops import NumpyOps
from lockstep.models.losses import cross_entropy
from lockstep.ops import Arrays

STEPS = 2


def question(devices: int, pooling: str, batch_size: int, micro_batches: int) -> Question:
    asked = {"devices": devices, "pooling": pooling, "batch_size": batch_size}
    more: dict[str, Any] = {"precision": "float64", "steps": STEPS, "data": "generated"}
    return Question(**asked, micro_batches=micro_batches, **more)  # type: ignore[arg-type]


@cache
def answer(asked: Question) -> Results:
    return run(asked)


@cache
def oracle(asked: Question) -> tuple[Arrays, tuple[float, ...]]:
    """NumPy on one device: the first gradient, and the losses of the steps that are timed, which
    follow two others."""
    ops = NumpyOps("float64")
    examples = fashion_mnist.generate(seed=asked.seed)[0]
    plan = ExamplePlan(len(examples), asked.batch_size, seed=asked.seed)

    def loss(w: Arrays, x: np.ndarray, y: np.ndarray) -> tuple[Any, Any]:
        scores, _ = asked.model.apply(ops, w, x, {})
        return ops.mean(cross_entropy(ops, scores, y)), {}

    weights = asked.model.initial_weights(asked.seed)
    gradients, losses = [], []
    for rows in plan.epoch(0)[0][: asked.steps + 2]:
        x, y = examples.x[rows] / 255, examples.y[rows]
        (value, _), gradient = ops.value_and_grad(loss)(weights, x, y)
        gradients.append(gradient)
        losses.append(float(value))
        weights = {name: w - LR * gradient[name] for name, w in weights.items()}
    return gradients[0], tuple(losses[2:])
