"""From a spec to its task: load the data, build the model, choose loss and batch plan."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from lockstep import models
from lockstep.data import airfoil, fashion_mnist, generated
from lockstep.data.examples import Examples
from lockstep.data.plans import ExamplePlan, WindowPlan
from lockstep.data.text import VOCABULARY_SIZE, Text, load_timemachine
from lockstep.errors import InputError
from lockstep.models.losses import LOSSES, cross_entropy, squared
from lockstep.ops import Arrays
from lockstep.own_task import Own
from lockstep.spec import Airfoil, FashionMNIST, OwnData, RunSpec, TimeMachine
from lockstep.task import Task, WindowBatch, example_batch, image_batch

Progress = Callable[[str], None]


def assemble(spec: RunSpec, own: Own | None = None, progress: Progress | None = None) -> Task:
    """The task a spec describes. `own` gives the arrays and model where the spec says "own"."""
    match spec.data:
        case Airfoil():
            task = _airfoil(spec, spec.data)
        case FashionMNIST():
            task = _images(spec, spec.data, progress)
        case TimeMachine():
            task = _text(spec, spec.data, progress)
        case OwnData():
            task = _own(spec, spec.data, own)
    for split in spec.evaluate:
        if split not in task.splits:
            splits = " and ".join(task.splits)
            problem = f"{spec.data.kind} data has no such split"
            raise InputError("evaluate", split, problem, f"It has {splits}.")
    return task


def model_of(spec: RunSpec) -> models.Model:
    """The model alone, without its data.

    >>> from lockstep import recipes
    >>> model_of(recipes.airfoil_linear()).shapes
    {'w': (5, 1), 'b': (1,)}
    """
    match spec.data:
        case Airfoil():
            return models.build(spec.model, (5,), 1)
        case FashionMNIST():
            return models.build(spec.model, (28, 28), 10)
        case TimeMachine():
            return models.build(spec.model, (), VOCABULARY_SIZE)
    raise InputError("model.kind", "own", "is known to its own code only", "Name a built-in model.")


def _airfoil(spec: RunSpec, part: Airfoil) -> Task:
    if part.source == "real":
        examples = airfoil.load(part.max_examples, dtype="float64")
    else:
        examples = generated.regression(part.max_examples, seed=spec.seed, dtype="float64")
    return Task(
        splits={"train": {"x": examples.x, "y": examples.y}},
        batch=example_batch,
        model=model_of(spec),
        loss=squared,
        plan=_example_plan(spec, part, len(examples)),
        facts=_facts(examples),
    )


def _images(spec: RunSpec, part: FashionMNIST, progress: Progress | None) -> Task:
    if part.source == "real":
        train, test = fashion_mnist.load(progress)
    else:
        train, test = generated.images(seed=spec.seed)
    x, y = train.x[: part.max_examples], train.y[: part.max_examples]
    return Task(
        splits={"train": {"x": x, "y": y}, "test": {"x": test.x, "y": test.y}},
        batch=image_batch,
        model=model_of(spec),
        loss=cross_entropy,
        plan=_example_plan(spec, part, len(x)),
        facts=_facts(train),
    )


def _text(spec: RunSpec, part: TimeMachine, progress: Progress | None) -> Task:
    if part.source == "real":
        text = load_timemachine(part.max_tokens, progress)
    else:
        text = generated.text(seed=spec.seed, max_tokens=part.max_tokens)
    plan = WindowPlan(len(text.tokens), spec.batch_size, part.window, part.sampling, spec.seed)
    return Task(
        splits={"train": {"tokens": text.tokens}},
        batch=WindowBatch(part.window),
        model=model_of(spec),
        loss=cross_entropy,
        plan=plan,
        facts=_facts(text),
        vocabulary=text.vocabulary,
    )


def _own(spec: RunSpec, part: OwnData, own: Own | None) -> Task:
    if own is None:
        raise InputError(
            "data.kind", "own", "needs the arrays themselves", "Give them: ls.train(run, mine)."
        )
    return Task(
        splits={name: _held(arrays) for name, arrays in own.splits.items()},
        batch=example_batch,
        model=own.net,
        loss=LOSSES[part.loss],
        plan=_example_plan(spec, part, len(own.splits["train"]["x"])),
        facts={"digest": part.digest},
        native=own.native,
    )


def _held(arrays: Arrays) -> Arrays:
    """Whole numbers in types that every framework has: labels in one, x as it is if it can."""
    x, y = arrays["x"], arrays["y"]
    if x.dtype.kind in "iu" and x.dtype.name not in ("uint8", "int32", "int64"):
        x = x.astype(np.int32)
    return {"x": x, "y": y.astype(np.int32) if y.dtype.kind in "iu" else y}


def _example_plan(
    spec: RunSpec, part: Airfoil | FashionMNIST | OwnData, num_examples: int
) -> ExamplePlan:
    return ExamplePlan(num_examples, spec.batch_size, part.order, part.drop_last, spec.seed)


def _facts(data: Examples | Text) -> dict[str, Any]:
    return dataclasses.asdict(data.origin)
