"""An extension, as a person would write it: one of each thing that can be added from outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

import lockstep as ls
from lockstep import data, experiments, recipes, schedules, spec
from lockstep.experiments.runs import Work
from lockstep.schedules import fields

# --- data set: points on a line -------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """y = slope x + intercept, without noise."""

    kind: ClassVar[str] = "line"
    slope: float = 3.0
    intercept: float = -2.0
    num_examples: int = 64


def load(part: Line, seed: int, progress: Any) -> data.Loaded:
    x = data.generator(seed, "line").uniform(-1, 1, (part.num_examples, 1))
    y = part.slope * x + part.intercept
    origin = data.origin_generated("line", seed, x.tobytes(), y.tobytes())
    return data.Loaded({"train": {"x": x, "y": y}}, origin)


data.add(Line, data.DataSet(load, input_shape=(1,), num_outputs=1, loss="squared"))


# --- schedule -------------------------------------------------------------------------------------


@schedules.add
@dataclass(frozen=True)
class Halving(schedules.Schedule):
    """Half as much after every `every` steps."""

    kind: ClassVar[str] = "halving"
    formula: ClassVar[str] = "base / 2^floor(t/every)"
    example: ClassVar[str] = "halving(0.3, every=5)"
    settled = None
    marks = (5, 10, 15)
    base: fields.Rate
    every: fields.Steps = 5

    def rate(self, step: int) -> float:
        return self.base * 0.5 ** (step // self.every)


# --- recipe ---------------------------------------------------------------------------------------


@recipes.add
def line_linear(**changes: Any) -> ls.RunSpec:
    """A linear model on points of a line: batches of 16, SGD at 0.5, 30 epochs."""
    run = ls.RunSpec(
        name="line-linear",
        data=Line(),
        model=spec.Linear(),
        optimizer=spec.SGD(),
        schedule=Halving(0.5, every=40),
        batch_size=16,
        epochs=30,
        evaluate=("train",),
    )
    return recipes.changed(run, changes)


# --- experiment -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    spec: ls.RunSpec
    slopes: tuple[float, ...] = experiments.option(
        "1,2", "of the line", read=lambda text: tuple(map(float, text.split(","))), metavar="LIST"
    )


def ask(question: Question, work: Work) -> dict[float, float]:
    found = {}
    for slope in question.slopes:
        run = question.spec.with_fields({"data.slope": slope})
        found[slope] = float(np.squeeze(ls.train(run).weights["w"]))
        work(len(found) / len(question.slopes), f"slope {slope}")
    return found


experiments.add(
    experiments.Experiment(
        name="slopes",
        about="Which slope does a linear model find?",
        options=Question,
        run=ask,
        tables=lambda found: [f"{slope}: {weight:.3f}" for slope, weight in found.items()],
        to_dict=lambda found: {str(slope): weight for slope, weight in found.items()},
    )
)
