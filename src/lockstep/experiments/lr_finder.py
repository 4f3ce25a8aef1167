"""Which learning rate should a run begin with, found in a few hundred steps?

A range test: trains with a learning rate that grows exponentially from step to step, from far too
small to far too large, and smooths the loss. The suggested rate is the middle of the decade of
rates over which the smoothed loss falls most, before it is lowest (`suggested`). The test leaves
nothing behind: runs then start from the same initial weights, with the suggested rate, a tenth of
it and ten times of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lockstep.checks import whole
from lockstep.errors import InputError
from lockstep.experiments import Experiment, option
from lockstep.experiments.runs import Planned, Runs, Work
from lockstep.report.charts import MUTED, Chart, Guide, Panel, Series, smoothed
from lockstep.report.curves import curve, panel
from lockstep.report.quantities import lr, number
from lockstep.report.tables import TextTable
from lockstep.schedules import exponential
from lockstep.spec import RunSpec

TEST = "range test"
SHARES = {"a tenth of it": 0.1, "the suggested rate": 1.0, "ten times of it": 10.0}


@dataclass(frozen=True)
class Question:
    spec: RunSpec
    low: float = option(1e-5, "the rate of the first step", metavar="RATE")
    high: float = option(10.0, "the rate of the last step", metavar="RATE")
    test_steps: int = option(200, "of the range test", metavar="N")
    train_steps: int = option(200, "of the runs after it", metavar="N")

    def __post_init__(self) -> None:
        whole("test_steps", self.test_steps, least=20)
        whole("train_steps", self.train_steps)
        if not 0 < self.low < self.high:
            problem = f"is not between 0 and high = {self.high:g}"
            raise InputError("low", self.low, problem, "Give 0 < --low < --high.")


def suggested(rates: np.ndarray, losses: np.ndarray) -> float:
    """The middle of the decade of rates over which the smoothed loss falls most, before it is
    lowest. With l(d) the smoothed loss at the rate 10^d, and m where it is lowest, it is 10^d for
    the d <= m - 1/2 at which l(d - 1/2) - l(d + 1/2) is largest.

    rates (n,) grow, losses (n,) are those of their steps. A decade, and not the steepest point,
    because noise makes any single point steep.

    >>> rates = np.logspace(-5, 1, 200)
    >>> falls = 2 / (1 + (rates / 0.01) ** 2)  # fastest at 0.01, in decades
    >>> f"{suggested(rates, falls + rates**2):.3f}"
    '0.010'
    """
    at, loss = smooth(losses)
    decades = np.log10(np.asarray(rates, np.float64)[at])
    last = decades[int(np.argmin(loss))] - 0.5
    middles = decades[(decades >= decades[0] + 0.5) & (decades <= last)]
    if not len(middles):
        problem = "the loss is lowest within a decade of the first rate"
        raise InputError("low", float(rates[0]), problem, "Begin the range test with a lower rate.")
    falls = np.interp(middles - 0.5, decades, loss) - np.interp(middles + 0.5, decades, loss)
    return float(10 ** middles[int(np.argmax(falls))])


def smooth(losses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places, and there the mean of the losses around: of a twentieth of them."""
    values = np.asarray(losses, np.float64)
    return smoothed(values, max(3, len(values) // 20))


@dataclass(frozen=True)
class Answer:
    """The suggested rate, and the runs: the range test first, then those with a constant rate."""

    rate: float
    runs: Runs

    def to_dict(self) -> dict[str, Any]:
        return {"rate": self.rate, "runs": self.runs.to_dict()}


def run(asked: Question, work: Work) -> Answer:
    growth = exponential(asked.low, decay=asked.high / asked.low, steps=asked.test_steps - 1)
    test = work.carry_out([Planned(TEST, _short(asked, asked.test_steps, growth))], (0.0, 0.25))
    history = test[TEST].history
    rate = suggested(history[:, "lr"], history[:, "loss"])
    after = [
        Planned(name, _short(asked, asked.train_steps, rate * share))
        for name, share in SHARES.items()
    ]
    trained = work.carry_out(after, (0.25, 1.0))
    return Answer(rate, Runs((*test, *trained)))


def _short(asked: Question, steps: int, schedule: Any) -> RunSpec:
    """The run asked about, for so many steps, with another rate; nothing but losses is measured."""
    fields = {"schedule": schedule, "schedule_per": "step", "evaluate": (), "evaluate_steps": 0}
    return asked.spec.with_fields({**fields, "max_steps": steps, "epochs": steps})


def tables(answer: Answer) -> Iterator[TextTable | str]:
    rows = []
    for run in answer.runs:
        losses = run.history[:, "loss"]
        rate = "grows" if run.label == TEST else lr(float(run.history[0, "lr"]))
        last = float(np.mean(losses[-max(1, len(losses) // 10) :]))
        cells = [repr(float(losses[0])), number(float(losses.min())), number(last)]
        rows.append([run.label, rate, run.status, f"{len(losses):,}", *cells])
    columns = ("run", "rate", "ended", "steps", "first loss", "lowest", "mean of the last tenth")
    yield TextTable(columns, rows, left=("run", "ended"))
    firsts = {float(run.history[0, "loss"]) for run in answer.runs}
    same = "the same in every run" if len(firsts) == 1 else "not the same in every run"
    yield f"suggested learning rate: {lr(answer.rate)}; the first loss is {same}"


def chart(answer: Answer) -> Chart:
    test, *trained = answer.runs
    rates, losses = test.history[:, "lr"], np.asarray(test.history[:, "loss"], np.float64)
    at, means = smooth(losses)
    mark = Guide(answer.rate, f"suggested: {lr(answer.rate)}", axis="x")
    top = 1.3 * float(losses[0])
    test_panel = Panel(
        "range test: loss against the rate of its step",
        "learning rate",
        "loss",
        (
            Series(
                "of each batch", rates, np.minimum(losses, top), colour=MUTED, alpha=0.5, width=1
            ),
            Series("smoothed", rates[at], np.minimum(means, top)),
        ),
        guides=(mark,),
        x_log=True,
    )
    title = f"{test.spec.name}: from the same weights, with a constant rate"
    highest = max(top, *(float(curve(run, "loss")[1][0]) for run in trained))
    after = panel(trained, "loss", "step", title=title, y_log=False, y_range=(0.0, highest))
    return answer.runs.chart("Learning-rate range test", test_panel, after)


LOOK_AT = """
On the left the loss does not move while the rate is too small, falls once the rate is large enough,
and grows when steps become too large. The suggested rate is in the middle of the steepest decade,
well to the left of the lowest point, next to which the loss begins to leap.

On the right are runs from the same initial weights: their first losses are equal to the last bit,
so the range test has left no trace. A tenth of the suggested rate is far slower. Ten times of it
may be faster still, as for the MLP, or fail: the suggestion is on the safe side.
"""

EXPERIMENT = Experiment(
    "lr-finder",
    __doc__,
    Question,
    run,
    tables,
    Answer.to_dict,
    chart,
    look_at=LOOK_AT,
    to_change=(
        "lockstep experiment lr-finder fashion-lenet",
        "lockstep experiment lr-finder airfoil-linear --batch-size 1",
        "lockstep experiment lr-finder fashion-mlp --optimizer adam --low 1e-7 --high 1",
    ),
    quick={"test_steps": 100, "train_steps": 100, "data.max_examples": 5000},
    recipe="fashion-mlp",
    seconds=(5, 3),
)
