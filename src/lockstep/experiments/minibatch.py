"""Why minibatches: which batch size gets the loss down soonest, counted in time?

Trains the linear model on the airfoil data by gradient descent (all 1,500 examples in a batch), by
stochastic gradient descent (one), and with batches of 100 and 10, each with the learning rate that
suits it, and measures the loss over the whole set every 200 examples. Everything is done twice:
step by step, as one would write it, and with steps fused or compiled, as Lockstep does it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from lockstep import recipes
from lockstep.experiments.runs import Planned, Runs, of_runs
from lockstep.report.charts import Chart, Guide, framework_colour
from lockstep.report.curves import LoggedRun, curve, panel
from lockstep.report.quantities import duration, number
from lockstep.report.tables import TextTable

LOSS = "final_train_loss"  # of the weights at that moment, over every example
GOAL = 0.25
WAYS = {True: "fused or compiled", False: "step by step"}
SETTINGS = {  # batch size, learning rate, epochs
    "gradient descent (b=1500)": (1500, 1.0, 10),
    "SGD (b=1)": (1, 0.005, 2),
    "b=100": (100, 0.4, 2),
    "b=10": (10, 0.05, 2),
}


def runs(asked: object) -> Iterator[Planned]:
    for fused, way in WAYS.items():
        for name, (batch_size, lr, epochs) in SETTINGS.items():
            spec = recipes.airfoil_linear(batch_size=batch_size, lr=lr, epochs=epochs, fused=fused)
            every = max(1, 200 // batch_size)
            yield Planned(f"{name}, {way}", replace(spec, evaluate_steps=every))


def tables(found: Runs) -> Iterator[TextTable | str]:
    for way in reversed(WAYS.values()):
        rows = [
            [
                run.label.removesuffix(f", {way}"),
                number(run.metrics[LOSS]),
                _said(reached(run)),
                f"{len(run.history):,}",
                duration(run.history.seconds),
                ", ".join(run.history.notes),
            ]
            for run in found
            if run.label.endswith(way)
        ]
        columns = ("run", "loss at the end", f"reaches {GOAL}", "steps", "all steps", "ran as")
        yield TextTable(columns, rows, left=("run", "ran as"), title=way)


def reached(run: LoggedRun) -> float | None:
    """The time in steps at which the loss was first below the goal."""
    seconds, loss = curve(run, LOSS, "seconds")
    below = np.flatnonzero(loss < GOAL)
    return float(seconds[below[0]]) if len(below) else None


def _said(seconds: float | None) -> str:
    return "never" if seconds is None else duration(seconds)


def chart(found: Runs) -> Chart:
    """Loss against time, on a logarithmic axis: step by step, and beside it fused or compiled."""
    drawn = []
    for fused in (False, True):
        own = [
            replace(run, label=run.label.removesuffix(f", {WAYS[fused]}"))
            for run in found
            if run.label.endswith(WAYS[fused])
        ]
        drawn.append(
            panel(
                own,
                LOSS,
                "seconds",
                title=f"loss against time, {WAYS[fused]}",
                x_log=True,
                y_log=False,
                guides=(Guide(GOAL, str(GOAL), colour=framework_colour("numpy")),),
            )
        )
    return found.chart("Minibatch SGD on airfoil self-noise", *drawn)


LOOK_AT = """
Step by step, a step costs about the same whether it sees 1 example or 100, because nearly all of it
is the cost of calling the framework. So SGD, with 1,500 steps an epoch, is the slowest to 0.25 in
time though it needs the fewest examples; gradient descent wastes examples; a batch of 100 is ahead.

Fused or compiled, the calls are gone and a step costs what its arithmetic costs. Then small batches
are cheap, and the order changes: what was slow about them was never the mathematics.
"""

EXPERIMENT = of_runs(
    "minibatch",
    __doc__,
    runs,
    tables=tables,
    chart=chart,
    look_at=LOOK_AT,
    to_change=(
        "lockstep experiment minibatch --framework torch,jax,numpy",
        "lockstep experiment minibatch --style concise",
        "lockstep experiment minibatch --seeds 5",
    ),
    quick={"max_steps": 300},
    framework="torch",
)
