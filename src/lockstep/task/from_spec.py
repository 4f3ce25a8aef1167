"""From a spec to its task: load the data, build the model, choose loss and batch plan."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from lockstep import models
from lockstep.data import data_set
from lockstep.data.encoding import Encoding
from lockstep.data.examples import example_batch, one_by_one
from lockstep.data.held_back import with_validation
from lockstep.data.source import Progress
from lockstep.errors import InputError, unknown
from lockstep.models.losses import LOSSES, Loss
from lockstep.ops import Arrays
from lockstep.spec import OwnData, RunSpec
from lockstep.task.own_task import Own
from lockstep.task.task import Task


def assemble(spec: RunSpec, own: Own | None = None, progress: Progress | None = None) -> Task:
    """The task a spec describes. `own` gives the arrays and model where the spec says "own"."""
    part = spec.data
    task = _own(spec, part, own) if isinstance(part, OwnData) else _loaded(spec, progress)
    for split in spec.measured:
        if split not in task.splits:
            splits = ", ".join(task.splits)
            problem = f"{part.kind} data has no such split"
            raise InputError("evaluate", split, problem, f"It has {splits}.")
    _check_watched(spec, task)
    return task


def _check_watched(spec: RunSpec, task: Task) -> None:
    """Refuse a metric that early stopping would never see."""
    known = ["train_loss", *(["train_perplexity"] if task.time_first else [])]
    known += [name for split in spec.measured for name in task.metric_names(split).values()]
    if spec.patience and spec.watched not in known:
        raise unknown("watch", spec.watched, known)


def model_of(spec: RunSpec, encoding: Encoding | None = None) -> models.Model:
    """The model alone, without its data. What a run knows of its file (`load_encoding`) saves
    reading it.

    >>> from lockstep import recipes
    >>> model_of(recipes.airfoil_linear()).initial_weights(0)["w"].shape
    (5, 1)
    """
    if isinstance(spec.data, OwnData):
        problem = "is known to its own code only"
        raise InputError("model.kind", "own", problem, "Name a built-in model.")
    encoding = encoding or data_set.of(spec.data).encoding(spec.data)
    return models.build(spec.model, encoding.input_shape, encoding.num_outputs)


def _loaded(spec: RunSpec, progress: Progress | None) -> Task:
    known = data_set.of(spec.data)
    data = known.load(spec.data, spec.seed, progress)
    encoding = known.encoding(spec.data, data)
    splits = with_validation(data.splits, spec.data)
    rows = len(next(iter(splits["train"].values())))
    batch = data.batch or known.batch(spec.data)
    loading = getattr(spec.data, "loading", "at_once")
    return Task(
        splits=splits,
        batch=one_by_one(batch) if loading == "one_by_one" else batch,
        model=model_of(spec, encoding),
        loss=LOSSES[encoding.loss],
        plan=known.plan(spec.data, rows, spec.batch_size, spec.seed),
        facts=dataclasses.asdict(data.origin),
        vocabulary=data.vocabulary,
        time_first=not encoding.input_shape,
        encoding=data.encoding,
    )


def _own(spec: RunSpec, part: OwnData, own: Own | None) -> Task:
    if own is None:
        remedy = "Give them: ls.train(run, mine)."
        raise InputError("data.kind", "own", "needs the arrays themselves", remedy)
    if part.validation and "validation" in own.splits:
        problem = "the task has x_validation of its own"
        raise InputError("data.validation", part.validation, problem, "Leave one of them out.")
    splits = with_validation({name: _held(a) for name, a in own.splits.items()}, part)
    rows = len(splits["train"]["x"])
    loss: Loss = LOSSES[part.loss] if own.own_loss is None else own.own_loss
    return Task(
        splits=_with_mean_one(splits),
        batch=example_batch,
        model=own.net,
        loss=loss,
        metrics=own.metrics,
        plan=data_set.example_plan(part, rows, spec.batch_size, spec.seed),
        facts={"digest": part.digest},
        native=own.native,
    )


def _held(arrays: Arrays) -> Arrays:
    """Whole numbers in types that every framework has: labels in one, x as it is if it can."""
    x, y = arrays["x"], arrays["y"]
    if x.dtype.kind in "iu" and x.dtype.name not in ("uint8", "int32", "int64"):
        x = x.astype(np.int32)
    rest = {name: array for name, array in arrays.items() if name not in ("x", "y")}
    return {"x": x, "y": y.astype(np.int32) if y.dtype.kind in "iu" else y, **rest}


def _with_mean_one(splits: Mapping[str, Arrays]) -> Mapping[str, Arrays]:
    """Weights scaled so that their mean over the training part is 1: the losses of a batch, weighed
    and divided by its size, are those of the weighted mean over that part on average."""
    weights = splits["train"].get("weight")
    if weights is None:
        return splits
    for name, arrays in splits.items():
        if "weight" in arrays and not arrays["weight"].any():
            problem = f"no {'training' if name == 'train' else name} example has a weight above 0"
            field = "example_weights, class_weights"
            raise InputError(field, 0.0, problem, "Give some of them more.")
    scale = weights.size / weights.sum()
    return {
        name: {n: a.reshape(len(a), -1) * scale if n == "weight" else a for n, a in arrays.items()}
        for name, arrays in splits.items()
    }
