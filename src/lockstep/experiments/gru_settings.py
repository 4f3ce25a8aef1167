"""What do hidden units, window and learning rate do to a GRU's perplexity, text and time?

Starts from the chapter's setting (256 hidden units, windows of 35 symbols, learning rate 1) and
changes one of the three at a time. Every run sees the same text for the same number of epochs: 150,
not the chapter's 500, so that all of them take some minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lockstep import recipes
from lockstep.experiments import option
from lockstep.experiments.continuations import final_text
from lockstep.experiments.runs import Planned, Runs, of_runs
from lockstep.report.charts import Chart
from lockstep.report.curves import LoggedRun, panel
from lockstep.report.quantities import duration, number
from lockstep.report.tables import TextTable

PERPLEXITY = "train_perplexity"
CHAPTER = "256 units, window 35, rate 1"
GROUPS: dict[str, dict[str, dict[str, Any]]] = {
    "hidden units": {f"{units} units": {"model.num_hiddens": units} for units in (64, 128, 512)},
    "window": {f"window {window}": {"data.window": window} for window in (10, 70)},
    "learning rate": {f"rate {lr:g}": {"lr": lr} for lr in (0.3, 3.0)},
}


@dataclass(frozen=True)
class Question:
    epochs: int = option(150, "of every run")


def runs(asked: Question) -> Iterator[Planned]:
    yield Planned(CHAPTER, recipes.timemachine_gru(epochs=asked.epochs))
    for settings in GROUPS.values():
        for label, changes in settings.items():
            yield Planned(label, recipes.timemachine_gru(epochs=asked.epochs, **changes))


def of_group(found: Runs, group: str) -> list[LoggedRun]:
    """The runs that differ in one setting: the chapter's and the others."""
    names = [CHAPTER, *GROUPS[group]]
    return [run for run in found if run.label.rpartition(": ")[2] in names]


def tables(found: Runs) -> Iterator[TextTable | str]:
    columns = ("run", "perplexity", "time in steps", "updates", "text")
    for group in GROUPS:
        rows = [
            [
                run.label,
                number(run.metrics.get(PERPLEXITY)),
                duration(run.history.seconds),
                f"{len(run.history):,}",
                final_text(run),
            ]
            for run in of_group(found, group)
        ]
        yield TextTable(columns, rows, left=("run", "text"), title=group)


def chart(found: Runs) -> Chart:
    """Perplexity against time, a panel for each setting."""
    drawn = [
        panel(of_group(found, group), PERPLEXITY, "seconds", title=group.capitalize(), y_log=True)
        for group in GROUPS
    ]
    return found.chart("Settings of a GRU, one changed at a time", *drawn, columns=3)


LOOK_AT = """
After 150 epochs what counts is how far a run has come: the number of its updates, and their size.
A window of 10 makes four times as many updates of the same text as one of 35, and knows it nearly
by heart when the chapter's setting is at a perplexity near 8; a window of 70 makes half as many and
is behind. A rate of 3 makes each update larger and is nearly done too; 0.3 is far behind.

The number of hidden units hardly changes the perplexity in these epochs, from 64 to 512: none of
these models is too small yet. It changes the time, though, so the smallest is the first to arrive.

This is no rule for longer runs: a window of 10 carries no gradient further back than 10 symbols.
The texts show how far each has come, from "the the the" to words of the book.
"""

EXPERIMENT = of_runs(
    "gru-settings",
    __doc__,
    runs,
    options=Question,
    tables=tables,
    chart=chart,
    look_at=LOOK_AT,
    to_change=(
        "lockstep experiment gru-settings --epochs 500",
        "lockstep experiment gru-settings --data.sampling random",
        "lockstep experiment gru-settings --framework jax",
    ),
    quick={"epochs": 10},
    seconds=(420, 21),
    framework="torch",
)
