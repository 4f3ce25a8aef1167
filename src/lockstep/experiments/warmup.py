"""How long a warm-up does a learning rate need at which training fails without one?

Trains LeNet on half of Fashion-MNIST by SGD with momentum 0.9 and the learning rate 0.2, which is
too large for its initial weights: within the first steps the network comes to answer every image
with the same class, and stays there. With a warm-up the rate rises from 0 to 0.2 in a straight
line, in so many steps; all else is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lockstep import recipes
from lockstep.experiments import option
from lockstep.experiments.runs import Planned, Runs, of_runs
from lockstep.report.charts import SERIES, Bar, Chart, Guide, Panel
from lockstep.report.curves import LoggedRun, panel
from lockstep.report.quantities import metric
from lockstep.report.tables import TextTable
from lockstep.schedules import constant
from lockstep.spec import Momentum
from lockstep.spec.convert import coerce

ACCURACY = "test_accuracy"
RATE = 0.2
CHANCE = 0.1  # ten classes


@dataclass(frozen=True)
class Question:
    lengths: tuple[int, ...] = option(
        "0,10,30,59,118",
        "of the warm-up, in steps; an epoch has 118",
        read=lambda text: coerce("lengths", text, tuple[int, ...]),
        metavar="LIST",
    )


def runs(asked: Question) -> Iterator[Planned]:
    for length in asked.lengths:
        schedule = constant(RATE).warmup(length) if length else constant(RATE)
        name = f"{length} steps" if length else "no warm-up"
        fields = {"optimizer": Momentum(), "data.max_examples": 30000, "schedule_per": "step"}
        yield Planned(name, recipes.fashion_lenet(schedule=schedule, epochs=2, **fields))


def outcome(run: LoggedRun) -> str:
    """How training went: it diverged, stayed at chance (less than twice of it), or trained."""
    if run.status == "diverged":
        return f"diverged at step {len(run.history):,}"
    return "trained" if run.metrics[ACCURACY] >= 2 * CHANCE else "stayed at chance"


def accuracies(found: Runs, label: str) -> list[float]:
    """The accuracy of each seed at the end; that of a run that diverged is 0."""
    return [0.0 if run.status == "diverged" else run.metrics[ACCURACY] for run in found.of(label)]


def tables(found: Runs) -> Iterator[TextTable | str]:
    rows = []
    for label in found.labels:
        same = found.of(label)
        outcomes = [outcome(run) for run in same]
        said = ", ".join(f"{outcomes.count(o)} {o}" for o in dict.fromkeys(outcomes))
        values = accuracies(found, label)
        cells = [metric(ACCURACY, value) for value in (float(np.mean(values)), min(values))]
        rows.append([label, outcomes[0] if len(same) == 1 else said, *cells])
    columns = ("warm-up", "what came of it", "test accuracy", "of the worst seed")
    yield TextTable(columns, rows, left=columns[:2])


def chart(found: Runs) -> Chart:
    runs = found.all
    values = {label: accuracies(found, label) for label in found.labels}
    bars = tuple(
        Bar(
            at,
            100 * float(np.mean(own)),
            colour=SERIES[at % len(SERIES)],
            low=100 * min(own),
            high=100 * max(own),
        )
        for at, own in enumerate(values.values())
    )
    return found.chart(
        "Warm-up of LeNet to a large learning rate",
        # one that fails may be in the hundreds for a few steps
        panel(runs, "loss", "step", title="loss, smoothed", y_log=False, y_range=(0.0, 4.0)),
        panel(runs, "lr", "step", title="learning rate"),
        Panel(
            "test accuracy at the end (the line: from the worst seed to the best)",
            "%",
            "",
            bars=bars,
            rows=tuple(values),
            guides=(Guide(100 * CHANCE, "chance", axis="x"),),
            wide=True,
        ),
    )


LOOK_AT = """
A run that fails has a loss of 2.30, which is log(10): every class gets the same probability,
whatever the image. Without warm-up the loss leaves that value only for a moment, and once it is
back no step leads out again. With a warm-up that is long enough the small first steps move the
weights to where the full rate does no harm, and the same rate trains from there on.

Between the two, chance decides: with a warm-up that is nearly long enough some seeds train and
others do not, so ask for several (--seeds 3), and count. A longer warm-up costs only that the first
steps are small.
"""

EXPERIMENT = of_runs(
    "warmup",
    __doc__,
    runs,
    tables=tables,
    chart=chart,
    options=Question,
    look_at=LOOK_AT,
    to_change=(
        "lockstep experiment warmup --seeds 3",
        "lockstep experiment warmup --lr 0.1 --seeds 3",
        "lockstep experiment warmup --optimizer sgd --lr 0.5 --seeds 3",
    ),
    quick={"lengths": "0,118", "evaluate_epochs": 2},
    framework="torch",
    seconds=(26, 9),
)
