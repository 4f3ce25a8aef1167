"""Why minibatches: which batch size gets the loss down soonest, counted in time?

Trains the linear model on the airfoil data by gradient descent (all 1,500 examples in a batch), by
stochastic gradient descent (one), and with batches of 100 and 10, each with the learning rate that
suits it, and measures the loss over the whole set every 200 examples. Everything is done in three
ways: with batches collected one example after another, as a plain data loader does; with batches
collected at once, step by step; and with steps fused or compiled, as Lockstep does it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from lockstep import recipes
from lockstep.experiments.runs import Planned, Runs, of_runs
from lockstep.report.charts import Chart, Guide
from lockstep.report.curves import LoggedRun, first_below, panel
from lockstep.report.quantities import duration, number
from lockstep.report.tables import TextTable

LOSS = "final_train_loss"  # of the weights at that moment, over every example
GOAL = 0.25
Run = TypeVar("Run", Planned, LoggedRun)
SETTINGS = {  # batch size, learning rate, epochs
    "gradient descent (b=1500)": (1500, 1.0, 10),
    "SGD (b=1)": (1, 0.005, 2),
    "b=100": (100, 0.4, 2),
    "b=10": (10, 0.05, 2),
}
WAYS: dict[str, dict[str, Any]] = {
    "step by step, with a data loader": {"fused": False, "data.loading": "one_by_one"},
    "step by step": {"fused": False},
    "fused or compiled": {"fused": True},
}


def runs(asked: object) -> Iterator[Planned]:
    for way, changes in WAYS.items():
        for name, (batch_size, lr, epochs) in SETTINGS.items():
            spec = recipes.airfoil_linear(batch_size=batch_size, lr=lr, epochs=epochs, **changes)
            every = max(1, 200 // batch_size)
            yield Planned(f"{name}, {way}", replace(spec, evaluate_steps=every))


def of_way(found: Iterable[Run], way: str) -> list[Run]:
    """The runs of one way, named by their setting alone."""
    own = [run for run in found if run.label.endswith(f", {way}")]
    return [replace(run, label=run.label.removesuffix(f", {way}")) for run in own]


def reached(run: LoggedRun) -> float | None:
    """The time in steps at which the loss was first below the goal."""
    return first_below(run, LOSS, GOAL, "seconds")


def tables(found: Runs) -> Iterator[TextTable | str]:
    columns = ("run", "loss at the end", f"reaches {GOAL}", "steps", "all steps", "ran as")
    for way in WAYS:
        rows = [
            [
                run.label,
                number(run.metrics[LOSS]),
                "never" if (time := reached(run)) is None else duration(time),
                f"{len(run.history):,}",
                duration(run.history.seconds),
                ", ".join(run.history.notes),
            ]
            for run in of_way(found, way)
        ]
        yield TextTable(columns, rows, left=("run", "ran as"), title=way)


def chart(found: Runs) -> Chart:
    """Loss against time on a logarithmic axis, once for each way."""
    goal = (Guide(GOAL, str(GOAL)),)
    drawn = [
        panel(
            of_way(found, way),
            LOSS,
            "seconds",
            title=way,
            x_log=True,
            y_log=False,
            guides=goal,
        )
        for way in WAYS
    ]
    return found.chart("Loss against time, airfoil self-noise", *drawn, columns=3)


LOOK_AT = """
With a data loader that collects a batch one example after another, gradient descent pays for 1,500
examples before every update, and SGD pays for calling the framework at every example. A batch of
100 is soonest below 0.25: it shares the call among many examples and still updates often.

When a batch is collected at once, a step costs nearly the same whether it sees 1 example or 1,500:
almost all of it is the cost of calling the framework. Few steps then win: gradient descent, which
needs only a handful here, is no longer behind, while SGD still pays 1,500 calls an epoch.

Fused or compiled, the calls are gone too, and a step costs what its arithmetic costs. SGD becomes
tens of times faster and small batches are no longer slow: what was slow about them was never the
mathematics.
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
    quick={"max_steps": 600},
    seconds=(7, 3),
    framework="torch",
)
