"""Is it better to draw examples with replacement, or to shuffle them and take each one once?

Trains the linear model on the airfoil data with batches of 1, 10 and 100. Three orders: shuffled
anew for every epoch, so that each example comes once; every example drawn at random, whether it
came before or not; and the order of the file, the same in every epoch. Everything else is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np

from lockstep import recipes
from lockstep.data.plans import ExamplePlan
from lockstep.experiments.runs import Planned, Runs, of_runs
from lockstep.report.charts import Chart
from lockstep.report.curves import LoggedRun, curve, panel
from lockstep.report.quantities import number, percent
from lockstep.report.tables import TextTable

LOSS = "final_train_loss"  # over every example, with the weights of that moment
ORDERS = {
    "shuffled": "shuffled",
    "with_replacement": "with replacement",
    "in_order": "in the order of the file",
}
RATES = {1: 0.005, 10: 0.05, 100: 0.4}  # batch size: learning rate
EPOCHS = 10


def runs(asked: object) -> Iterator[Planned]:
    for batch_size, lr in RATES.items():
        for order, name in ORDERS.items():
            spec = recipes.airfoil_linear(batch_size=batch_size, lr=lr, epochs=EPOCHS)
            spec = spec.with_fields({"data.order": order, "evaluate_steps": 100 // batch_size})
            yield Planned(f"b={batch_size}, {name}", spec)


def never_seen(run: LoggedRun) -> float:
    """The share of examples that no batch of an epoch has; the mean over epochs.

    With replacement an example is missed n times in a row: (1 - 1/n)^n, near 1/e = 36.8 %.
    """
    spec = run.spec
    data: Any = spec.data
    plan = ExamplePlan(data.max_examples, spec.batch_size, data.order, data.drop_last, spec.seed)
    seen = 0
    for epoch in range(spec.epochs):
        rows = np.concatenate([block.ravel() for block in plan.epoch(epoch)])
        seen += len(np.unique(rows))
    return 1 - seen / (spec.epochs * plan.num_examples)


def tables(found: Runs) -> Iterator[TextTable | str]:
    rows = [
        [
            label,
            percent(fmean(map(never_seen, found.of(label)))),
            number(found.mean(label, LOSS)),
            number(fmean(map(worst_of_last_epoch, found.of(label)))),
        ]
        for label in found.labels
    ]
    columns = ("run", "never seen in an epoch", "loss at the end", "worst in the last epoch")
    yield TextTable(columns, rows, left=("run",))


def worst_of_last_epoch(run: LoggedRun) -> float:
    """The largest loss that was measured in the last epoch, its end included."""
    epochs, loss = curve(run, LOSS, "epoch")
    return float(loss[epochs > epochs[-1] - 1].max())


def chart(found: Runs) -> Chart:
    """A panel for each batch size: loss against epochs, a curve for each order."""
    panels = []
    for batch_size in RATES:
        begin = f"b={batch_size}, "
        own = [run for run in found if run.label.startswith(begin)]
        own = [replace(run, label=run.label.removeprefix(begin)) for run in own]
        panels.append(panel(own, LOSS, title=f"batches of {batch_size}", y_log=True))
    return found.chart("Drawing examples with and without replacement", *panels, columns=3)


LOOK_AT = """
An epoch of draws with replacement never sees 37 % of the examples, and others twice or more. At the
end of an epoch the shuffled order is nearer to the lowest loss: it has used every example once, so
what one batch pulled too far another has pulled back. Independent draws do not even out.

Within an epoch the two are much alike. The order of the file is worst: its rows stand in groups of
the same angle and speed, so the weights follow each group in turn, and the loss swings alike in
every epoch. The batch size changes none of this: all see the same rows in the same order.
"""

EXPERIMENT = of_runs(
    "replacement",
    __doc__,
    runs,
    tables=tables,
    chart=chart,
    look_at=LOOK_AT,
    to_change=(
        "lockstep experiment replacement --seeds 5",
        "lockstep experiment replacement --data.max-examples 100",
        "lockstep experiment replacement --data generated",
    ),
    quick={"data.max_examples": 300},
    seconds=(5, 3),
)
