"""Which learning-rate schedule gives the best test accuracy, and the smallest gap to training?

Trains LeNet on Fashion-MNIST for 30 epochs with each of six schedules that count epochs: constant,
square root, factor, multi-factor, cosine, and cosine after a warm-up. Train and test accuracy are
measured with the same weights, over every example. With another number of epochs the lengths of the
schedules (milestones, the cosine's end, the warm-up) are stretched in proportion.

A factor schedule from 2, as the chapter draws it, leaves this network at chance: 10 % accuracy
after each of the three epochs that were tried (seed 0). It is trained from 0.5 here. Even
0.3 and 0.5 are too large for some initial weights: seed 0 stays at chance at a constant 0.3, seeds
1 and 2 at 0.5. So this trains with seed 3, which was chosen because it trains at both; the
experiment `warmup` is about the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lockstep import recipes
from lockstep.experiments import option
from lockstep.experiments.runs import Planned, Runs, of_runs
from lockstep.report.charts import SERIES, Bar, Chart, Panel
from lockstep.report.curves import panel
from lockstep.report.quantities import lr, metric
from lockstep.report.tables import TextTable
from lockstep.schedules import Schedule, constant, cosine, factor, multi_factor, square_root

TRAIN, TEST = "final_train_accuracy", "test_accuracy"  # both of the weights at that moment
CONSTANT, WARMED = "constant", "cosine after warm-up"
SEED = 3  # chosen: the first of 0 to 3 that trains at 0.3 and at 0.5


@dataclass(frozen=True)
class Question:
    epochs: int = option(30, "of every run; the schedules are stretched to it", metavar="N")


def schedules(epochs: int) -> dict[str, Schedule]:
    """The six schedules, in epochs. At 30 epochs they are the chapter's, but for the factor's base.

    >>> six = schedules(30)
    >>> [round(six["cosine after warm-up"](epoch), 2) for epoch in (0, 1, 5, 20, 29)]
    [0.0, 0.06, 0.3, 0.01, 0.01]
    """

    def stretched(length: int) -> int:
        return max(1, round(length * epochs / 30))

    milestones = (stretched(15), max(stretched(30), stretched(15) + 1))
    return {
        CONSTANT: constant(0.3),
        "square root": square_root(0.1),
        "factor": factor(0.5, factor=0.9, floor=0.01),
        "multi-factor": multi_factor(0.5, milestones=milestones, factor=0.5),
        "cosine": cosine(0.3, final=0.01, steps=stretched(20)),
        WARMED: cosine(0.3, final=0.01, steps=stretched(15)).warmup(stretched(5)),
    }


def runs(asked: Question) -> Iterator[Planned]:
    for name, schedule in schedules(asked.epochs).items():
        spec = recipes.fashion_lenet(
            schedule=schedule,
            epochs=asked.epochs,
            seed=SEED,
            evaluate=("train", "test"),
            evaluate_epochs=max(1, asked.epochs // 10),  # a pass over the training set each time
        )
        yield Planned(name, spec)


def gap(found: Runs, label: str) -> float:
    """Train accuracy minus test accuracy at the end; a mean over seeds."""
    return found.mean(label, TRAIN) - found.mean(label, TEST)


def tables(found: Runs) -> Iterator[TextTable | str]:
    rows = [
        [
            label,
            metric(TEST, found.mean(label, TEST)),
            metric(TRAIN, found.mean(label, TRAIN)),
            f"{100 * gap(found, label):.2f}",
            lr(float(found[label].history[-1, "lr"])),
        ]
        for label in found.labels
    ]
    columns = ("schedule", "test accuracy", "train accuracy", "gap (points)", "last rate")
    yield TextTable(columns, rows, left=("schedule",))
    yield (
        f"{WARMED} against {CONSTANT}: "
        f"{100 * (found.mean(WARMED, TEST) - found.mean(CONSTANT, TEST)):+.2f} points of test "
        f"accuracy, {100 * (gap(found, WARMED) - gap(found, CONSTANT)):+.2f} points of gap"
    )


def chart(found: Runs) -> Chart:
    ends = [100 * found.mean(label, name) for label in found.labels for name in (TRAIN, TEST)]
    close = (max(0.0, min(ends) - 8), min(100.0, max(ends) + 2))
    runs = found.all
    return found.chart(
        "Six learning-rate schedules: LeNet on Fashion-MNIST",
        panel(runs, "train_loss", title="train loss", y_log=True),
        panel(runs, "lr", title="learning rate"),
        panel(runs, TRAIN, title="train accuracy", y_range=close),
        panel(runs, TEST, title="test accuracy", y_range=close),
        Panel(
            "the gap: train accuracy minus test accuracy, at the end",
            "points",
            "",
            bars=tuple(
                Bar(at, 100 * gap(found, label), colour=SERIES[at % len(SERIES)])
                for at, label in enumerate(found.labels)
            ),
            rows=tuple(found.labels),
            wide=True,
        ),
    )


LOOK_AT = """
With a constant rate train accuracy keeps growing while test accuracy does not follow: that is the
gap. Rates that become small leave less of it. The square root, which is small from the beginning,
has the smallest gap of those and the lowest train accuracy: a small gap alone is no merit.

Look at train loss where a rate falls: it drops at once, because shorter steps calm the noise.
"""

EXPERIMENT = of_runs(
    "schedules",
    __doc__,
    runs,
    tables=tables,
    chart=chart,
    options=Question,
    look_at=LOOK_AT,
    to_change=(
        "lockstep experiment schedules --epochs 10",
        "lockstep experiment schedules --optimizer adam --seeds 3",
        "lockstep experiment schedules --model mlp",
    ),
    quick={"epochs": 6, "data.max_examples": 4000, "batch_size": 64, "evaluate_epochs": 3},
    framework="torch",
    seconds=(600, 40),
)
