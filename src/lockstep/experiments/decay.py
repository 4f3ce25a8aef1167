"""How fast should a learning rate fall: by which exponent, and is a tenth at every epoch too fast?

Trains softmax regression on Fashion-MNIST with rates that begin at 0.5 and fall at every step: as
(t+1)^-p, for several exponents p, and as a power of the time left, (1-t/T)^power. And trains the
linear model on the airfoil data in batches of 10, with a constant rate of 0.05 and with one that is
divided by ten after every epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lockstep import recipes
from lockstep.experiments import option
from lockstep.experiments.runs import Planned, Runs, of_runs
from lockstep.report.charts import Chart
from lockstep.report.curves import LoggedRun, panel
from lockstep.report.quantities import lr, metric, number
from lockstep.report.tables import TextTable
from lockstep.schedules import Schedule, constant, factor, inverse_power, polynomial

LOSS, ACCURACY = "final_train_loss", "test_accuracy"
BATCH_SIZE, EPOCHS = 256, 5
EXPONENTS = (0.25, 0.5, 1.0)
POWERS = (0.5, 1.0, 2.0)
TENTHS = {  # on airfoil, in epochs
    "airfoil: constant": constant(0.05),
    "airfoil: a tenth at every epoch": factor(0.05, factor=0.1),
}
AIRFOIL_EPOCHS = 6


@dataclass(frozen=True)
class Question:
    examples: int = option(60_000, "of Fashion-MNIST", metavar="N")


def falling(num_steps: int) -> dict[str, Schedule]:
    """The schedules of softmax regression, by step.

    >>> falling(100)["(t+1)^-0.5"](3)
    0.25
    """
    found: dict[str, Schedule] = {"constant": constant(0.5)}
    found |= {f"(t+1)^-{p:g}": inverse_power(0.5, exponent=p) for p in EXPONENTS}
    found |= {f"(1-t/T)^{p:g}": polynomial(0.5, steps=num_steps, power=p) for p in POWERS}
    return found


def runs(asked: Question) -> Iterator[Planned]:
    num_steps = EPOCHS * -(-asked.examples // BATCH_SIZE)  # the last batch of an epoch is smaller
    for name, schedule in falling(num_steps).items():
        spec = recipes.fashion_softmax(
            schedule=schedule, schedule_per="step", epochs=EPOCHS, evaluate=("train", "test")
        )
        yield Planned(name, spec.with_fields({"data.max_examples": asked.examples}))
    for name, schedule in TENTHS.items():
        spec = recipes.airfoil_linear(
            schedule=schedule, schedule_per="epoch", epochs=AIRFOIL_EPOCHS, evaluate_steps=30
        )
        yield Planned(name, spec)


def parts(found: Runs) -> tuple[list[LoggedRun], list[LoggedRun]]:
    """The runs of softmax regression, and those on airfoil."""
    images = [run for run in found if run.label not in TENTHS]
    return images, [run for run in found if run.label in TENTHS]


def tables(found: Runs) -> Iterator[TextTable | str]:
    rows = []
    for label in found.labels:
        accuracy = "" if label in TENTHS else metric(ACCURACY, found.mean(label, ACCURACY))
        last = float(found[label].history[-1, "lr"])
        rows.append([label, number(found.mean(label, LOSS)), accuracy, lr(last)])
    columns = ("rate", "train loss (whole set)", "test accuracy", "last rate")
    yield TextTable(columns, rows, left=("rate",))


def chart(found: Runs) -> Chart:
    images, airfoil = parts(found)
    return found.chart(
        "How fast a learning rate falls",
        panel(images, LOSS, title="softmax regression: train loss"),
        panel(images, "lr", title="softmax regression: learning rate", y_log=False),
        panel(airfoil, LOSS, title="airfoil, batches of 10: train loss"),
        panel(airfoil, "lr", title="airfoil, batches of 10: learning rate", y_log=True),
    )


LOOK_AT = """
At a constant 0.5 the loss of softmax regression stays high and unsteady: the steps are too long to
settle. Among (t+1)^-p the smallest exponent is best here, and p = 1 is far too fast: the rate is a
hundredth of its first value after a hundred steps, less than half an epoch, and little is learned
after that. A polynomial spreads its fall over the whole run; there the power matters much less.

On airfoil, a tenth at every epoch ends lower than the constant rate: the first epoch has done
nearly all the work, and smaller steps then calm the noise of small batches. But all steps after the
second epoch together are shorter than two steps of the first: what is not learned by then never is.
"""

EXPERIMENT = of_runs(
    "decay",
    __doc__,
    runs,
    tables=tables,
    chart=chart,
    options=Question,
    look_at=LOOK_AT,
    to_change=(
        "lockstep experiment decay --optimizer momentum",
        "lockstep experiment decay --examples 6000",
        "lockstep experiment decay --seeds 3",
    ),
    quick={"examples": 6000},
    seconds=(16, 5),
)
