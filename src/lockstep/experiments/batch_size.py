"""How large should a batch be: where does a larger one stop to gain?

Trains the linear model on the airfoil data with batches of 1, 2, 4 ... 1024 examples, all for the
same number of examples. First every batch size is tried with five learning rates around b/(b+100),
and gets the one with the lowest loss at the end; then its loss over the whole set is measured
against examples and against time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lockstep import recipes
from lockstep.experiments import Experiment, option
from lockstep.experiments.runs import Planned, Runs, Work
from lockstep.report.charts import Chart, Guide, Panel, Series
from lockstep.report.curves import LoggedRun, curve, panel
from lockstep.report.quantities import duration, lr, number
from lockstep.report.tables import TextTable
from lockstep.spec.convert import coerce

LOSS = "final_train_loss"  # over every example, with the weights of that moment
GOAL = 0.25
EPOCHS = 3


@dataclass(frozen=True)
class Question:
    sizes: tuple[int, ...] = option(
        ",".join(str(2**k) for k in range(11)),
        "of batches",
        read=lambda text: coerce("sizes", text, tuple[int, ...]),
        metavar="LIST",
    )


@dataclass(frozen=True)
class Answer:
    """The runs of the search for rates, and those that were measured, one for each batch size."""

    tried: Runs
    measured: Runs

    def to_dict(self) -> dict[str, Any]:
        return {"tried": self.tried.to_dict(), "measured": self.measured.to_dict()}


def rates(batch_size: int) -> list[float]:
    """Those to try. The mean of a batch is less noisy the larger it is, so the rate may grow with
    it, up to what the curvature allows.

    >>> [round(rate, 3) for rate in rates(100)]
    [0.062, 0.125, 0.25, 0.5, 1.0]
    """
    middle = batch_size / (batch_size + 100)
    return [middle * 2.0**k for k in (-3, -2, -1, 0, 1)]


def best_rate(losses: Mapping[float, float]) -> float:
    """The rate with the lowest loss; one that is not a number is of a run that diverged.

    >>> best_rate({0.1: 0.3, 0.2: 0.25, 0.4: math.nan})
    0.2
    """
    return min(losses, key=lambda rate: losses[rate] if math.isfinite(losses[rate]) else math.inf)


def run(asked: Question, work: Work) -> Answer:
    trials = {b: [_planned(b, rate) for rate in rates(b)] for b in asked.sizes}
    tried = work.carry_out([run for runs in trials.values() for run in runs], (0.0, 0.6))
    chosen = []
    for batch_size in asked.sizes:
        losses = {rate: _loss(tried, _name(batch_size, rate)) for rate in rates(batch_size)}
        spec = _planned(batch_size, best_rate(losses)).spec
        every = max(1, 128 // batch_size)
        chosen.append(Planned(f"b={batch_size}", replace(spec, evaluate_steps=every)))
    return Answer(tried, work.carry_out(chosen, (0.6, 1.0)))


def _planned(batch_size: int, rate: float) -> Planned:
    spec = recipes.airfoil_linear(batch_size=batch_size, lr=rate, epochs=EPOCHS)
    return Planned(_name(batch_size, rate), spec)


def _name(batch_size: int, rate: float) -> str:
    return f"b={batch_size}, lr {lr(rate)}"


def _loss(tried: Runs, label: str) -> float:
    """The loss at the end, a mean over seeds and frameworks; nan if a run diverged."""
    same = [run for run in tried if run.label.endswith(label)]
    ends = [run.metrics[LOSS] if run.status == "completed" else math.nan for run in same]
    return float(np.mean(ends))


def reached(run: LoggedRun, axis: str) -> float | None:
    """Where the loss was first below the goal: examples, or seconds in steps."""
    places, loss = curve(run, LOSS, axis)
    below = np.flatnonzero(loss < GOAL)
    return float(places[below[0]]) if len(below) else None


def tables(answer: Answer) -> Iterator[TextTable | str]:
    rows = []
    for label in answer.measured.labels:
        run = answer.measured[label]
        examples, seconds = reached(run, "examples"), reached(run, "seconds")
        rows.append(
            [
                label,
                lr(float(run.history[0, "lr"])),
                number(answer.measured.mean(label, LOSS)),
                "never" if examples is None else f"{examples:,.0f}",
                "never" if examples is None else f"{examples / run.spec.batch_size:,.0f}",
                "never" if seconds is None else duration(seconds),
                duration(run.history.seconds / (len(run.history) * run.spec.batch_size) * 1000),
            ]
        )
    columns = (
        "batch size", "best rate", "loss at the end", f"examples to {GOAL}", f"steps to {GOAL}",
        f"time to {GOAL}", "1,000 examples take",
    )  # fmt: skip
    yield TextTable(columns, rows, left=("batch size",))


def chart(answer: Answer) -> Chart:
    runs = answer.measured.all
    some = [run for at, run in enumerate(answer.measured.labels) if at % 2 == 0]
    drawn = [run for run in runs if run.label in some]  # eleven curves cannot be told apart
    goal = (Guide(GOAL, str(GOAL)),)
    return answer.measured.chart(
        "Batch sizes on airfoil self-noise, each with its best rate",
        panel(drawn, LOSS, "examples", title="loss against examples", x_log=True, guides=goal),
        panel(drawn, LOSS, "seconds", title="loss against time", x_log=True, guides=goal),
        _to_goal(runs, "examples", "examples"),
        _to_goal(runs, "seconds", "seconds in steps"),
    )


def _to_goal(runs: tuple[LoggedRun, ...], axis: str, unit: str) -> Panel:
    found = [(run.spec.batch_size, reached(run, axis)) for run in runs]
    known = [(size, place) for size, place in found if place is not None]
    x, y = ([pair[i] for pair in known] for i in (0, 1))
    points = Series(f"to {GOAL}", x, y, marker="circle")
    title = f"{axis} until the loss is {GOAL}"
    return Panel(title, "batch size", unit, (points,), x_log=True, y_log=True)


LOOK_AT = """
Counted in examples, batches up to 512 are much alike: each with its own rate, they need 1,300 to
2,000 examples, because the rate grows with the batch. Then the curvature limits the rate: steps of
1,024 examples need several times as many.

Counted in time, larger batches gain as long as a step costs the same whatever its size, because
most of it is the call and not the arithmetic. The gain stops where the number of steps to the goal
no longer falls.
"""

EXPERIMENT = Experiment(
    "batch-size",
    __doc__,
    Question,
    run,
    tables,
    Answer.to_dict,
    chart,
    look_at=LOOK_AT,
    to_change=(
        "lockstep experiment batch-size --framework torch --fused no",
        "lockstep experiment batch-size --optimizer momentum",
        "lockstep experiment batch-size --sizes 1,32,1024 --seeds 3",
    ),
    quick={"sizes": "1,8,64,512"},
    fields=True,
)
