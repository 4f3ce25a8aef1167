"""How large should a batch be: where does a larger one stop to gain?

Trains the linear model on the airfoil data with batches of 1, 2, 4 ... 1024 examples, all for the
same number of examples. First a sweep tries 24 learning rates from 0.001 to 2 with every batch
size, and the one with the lowest loss at the end is taken; then the loss over the whole set is
measured against examples and against time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lockstep import recipes
from lockstep.errors import InputError
from lockstep.experiments import Experiment, option
from lockstep.experiments.runs import Planned, Runs, Work, folder_name
from lockstep.frameworks import registry
from lockstep.report.charts import Chart, Guide, Panel, Series
from lockstep.report.curves import LoggedRun, first_below, panel
from lockstep.report.quantities import duration, lr, metric_name, number
from lockstep.report.tables import TextTable
from lockstep.spec import RunSpec
from lockstep.spec.convert import coerce
from lockstep.sweeps.sweep import sweep
from lockstep.sweeps.trials import Sweep

LOSS = "final_train_loss"  # over every example, with the weights of that moment
GOAL = 0.25
EPOCHS = 3
RATES = np.geomspace(0.001, 2.0, 24).tolist()


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
    """The sweeps by label and seed, and the runs that were measured, one for each batch size."""

    sweeps: Mapping[tuple[str, int], Sweep]
    measured: Runs

    def to_dict(self) -> dict[str, Any]:
        swept = [
            {"label": n, "seed": s, **found.to_dict()} for (n, s), found in self.sweeps.items()
        ]
        return {"sweeps": swept, "measured": self.measured.to_dict()}


def run(asked: Question, work: Work) -> Answer:
    """One sweep for each batch size, seed and framework, then the runs that are measured."""
    planned = work.planned(Planned(f"b={b}", _spec(b)) for b in asked.sizes)
    found, chosen = {}, []
    for place, one in enumerate(planned):

        def report(share: float, what: str, done: int = place, name: str = one.label) -> None:
            work(0.6 * (done + share) / len(planned), f"{name}: {what}")

        found[one.label, one.spec.seed] = swept = sweep(
            replace(one.spec, framework=_sweeping(one.spec.framework)),
            lr=RATES,
            metric=LOSS,
            out=work.folder / "sweeps" / folder_name(one),
            progress=report,
        )
        if swept.best is None:
            problem = f"diverges at every rate from {RATES[0]:g} to {RATES[-1]:g}"
            raise InputError("sizes", one.spec.batch_size, problem, "Leave it out.")
        every = max(1, 128 // one.spec.batch_size)
        best = one.spec.with_lr(float(swept.best.settings["lr"]))
        chosen.append(replace(one, spec=replace(best, evaluate_steps=every)))
    return Answer(found, work.carry_out_planned(chosen, (0.6, 1.0)))


def _spec(batch_size: int) -> RunSpec:
    return recipes.airfoil_linear(batch_size=batch_size, epochs=EPOCHS)


def _sweeping(framework: str) -> str:
    """A framework that trains all rates at once, if one is installed: the numbers are the same."""
    return next((name for name in registry.installed() if registry.trains_many(name)), framework)


def reached(run: LoggedRun, axis: str) -> float | None:
    """Where the loss was first below the goal: examples, or seconds in steps."""
    return first_below(run, LOSS, GOAL, axis)


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
        _found_rates(answer, some),
    )


def _found_rates(answer: Answer, some: list[str]) -> Panel:
    """The loss at the end for every rate that a sweep tried."""
    series: list[Series] = []
    for (label, _), found in answer.sweeps.items():
        if label in some and label not in [each.label for each in series]:
            done = [row for row in found.rows if row.status == "completed"]
            x = [float(row.settings["lr"]) for row in done]
            series.append(Series(label, x, [row.metrics[LOSS] for row in done], marker="circle"))
    return Panel(
        "what the sweep found: loss at the end, by rate",
        "learning rate",
        metric_name(LOSS),
        tuple(series),
        x_log=True,
        y_range=(0.24, 0.4),
        wide=True,
    )


def _to_goal(runs: tuple[LoggedRun, ...], axis: str, unit: str) -> Panel:
    found = [(run.spec.batch_size, reached(run, axis)) for run in runs]
    known = [(size, place) for size, place in found if place is not None]
    x, y = ([pair[i] for pair in known] for i in (0, 1))
    points = Series(f"to {GOAL}", x, y, marker="circle")
    title = f"{axis} until the loss is {GOAL}"
    return Panel(title, "batch size", unit, (points,), x_log=True, y_log=True)


LOOK_AT = """
Counted in examples, batches up to 512 are much alike: each with its own rate, they need 1,150 to
2,050 examples, because the rate grows with the batch. Then the curvature limits the rate: steps of
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
    seconds=(12, 6),
)
