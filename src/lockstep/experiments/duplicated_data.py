"""What changes if somebody has secretly doubled the data set?

Trains the linear model on the airfoil data as it is, and on a data set in which every example
stands twice. Three ways: gradient descent, with the whole data set in every batch; batches of 100;
and SGD, with single examples. Both data sets get the same rates and the same number of epochs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from lockstep import recipes
from lockstep.experiments import option
from lockstep.experiments.runs import Planned, Runs, of_runs
from lockstep.report.charts import Chart
from lockstep.report.curves import LoggedRun, curve, panel
from lockstep.report.quantities import number
from lockstep.report.tables import TextTable

LOSS = "final_train_loss"  # the mean over every example: the same function for both data sets
EPOCHS = 6
COPIES = {"as it is": 1, "doubled": 2}
DESCENT, MINIBATCH, SGD = "gradient descent", "batches of 100", "SGD"
RATES = {DESCENT: 0.5, MINIBATCH: 0.1, SGD: 0.001}


@dataclass(frozen=True)
class Question:
    examples: int = option(1500, "of the data set as it is", metavar="N")


def runs(asked: Question) -> Iterator[Planned]:
    for way, lr in RATES.items():
        for name, copies in COPIES.items():
            whole = asked.examples * copies
            batch_size = {DESCENT: whole, MINIBATCH: 100, SGD: 1}[way]
            spec = recipes.airfoil_linear(lr=lr, batch_size=batch_size, epochs=EPOCHS)
            data = {"data.max_examples": asked.examples, "data.copies": copies}
            every = max(1, asked.examples // 5 // batch_size)
            yield Planned(f"{way}, {name}", spec.with_fields({**data, "evaluate_steps": every}))


def carried_out(found: Runs, way: str) -> list[LoggedRun]:
    """The runs of one way, named by their data set alone."""
    own = [run for run in found if run.label.startswith(f"{way}, ")]
    return [replace(run, label=run.label.removeprefix(f"{way}, ")) for run in own]


def loss_after(run: LoggedRun, examples: int) -> float:
    """The loss when so many examples had been seen."""
    seen, loss = curve(run, LOSS, "examples")
    return float(loss[(seen <= examples).nonzero()[0][-1]])


def tables(found: Runs) -> Iterator[TextTable | str]:
    rows = [
        [
            run.label,
            f"{run.history.steps_per_epoch:,}",
            f"{run.spec.batch_size * run.history.steps_per_epoch:,}",
            number(run.history.epochs[0].metrics[LOSS]),
            number(loss_after(run, 2 * run.spec.data.max_examples)),  # type: ignore[attr-defined]
            number(run.metrics[LOSS]),
        ]
        for run in map(found.__getitem__, found.labels)
    ]
    columns = (
        "run", "updates an epoch", "examples an epoch", "loss after an epoch",
        "after the same examples", "at the end",
    )  # fmt: skip
    yield TextTable(columns, rows, left=("run",))
    one, two = (found[f"{DESCENT}, {name}"].history[:, "loss"] for name in COPIES)
    yield f"{DESCENT}: the losses of its steps differ by at most {abs(one - two).max():.1e}"


def chart(found: Runs) -> Chart:
    """A row for each way: loss against epochs, and against the examples seen."""
    panels = []
    for way in RATES:
        own = carried_out(found, way)
        panels.append(panel(own, LOSS, "epoch", title=f"{way}: against epochs"))
        panels.append(panel(own, LOSS, "examples", title=f"{way}: against examples"))
    return found.chart("A data set that was doubled in secret", *panels)


LOOK_AT = """
Gradient descent walks the same path step by step: a mean over examples does not notice that each
stands there twice. It only pays twice for every step, so against examples it is half as fast.

With batches of a fixed size an epoch of the doubled data has twice the updates, so the loss after
an epoch is lower, and one might think that the data are better. Against examples, or updates, the
two curves lie on each other. Minibatches do not pay for what is redundant; gradient descent does.
"""

EXPERIMENT = of_runs(
    "duplicated-data",
    __doc__,
    runs,
    tables=tables,
    chart=chart,
    options=Question,
    look_at=LOOK_AT,
    to_change=(
        "lockstep experiment duplicated-data --examples 300",
        "lockstep experiment duplicated-data --data.order in_order",
        "lockstep experiment duplicated-data --seeds 3",
    ),
    quick={"examples": 300},
    seconds=(5, 2),
)
