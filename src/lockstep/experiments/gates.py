"""How far back do an RNN, a GRU, and its gates one by one remember, after the same training?

Trains each of them, with the same number of hidden units, optimizer and steps, to answer at every
step which symbol came first (data set `recall`: one symbol to remember, then distractors). Measures
the share of right answers at each distance from that symbol, and how much the loss of the last step
depends on the hidden state d steps before it: the norm of its gradient. "Remembers" is the largest
distance up to which at least 90 % of the answers are right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lockstep import recipes
from lockstep.experiments import Experiment, NoOptions
from lockstep.experiments.runs import Planned, Runs, Work
from lockstep.report.charts import Chart, Guide, Panel, Series
from lockstep.report.curves import LoggedRun, panel
from lockstep.report.quantities import metric, number
from lockstep.report.tables import TextTable
from lockstep.spec import GRU, RNN, OneGate
from lockstep.task import assemble
from lockstep.training.memory import accuracy_by_step, gradient_by_distance
from lockstep.training.weights import trained

UNITS = 64
MODELS = {
    "RNN": RNN(UNITS),
    "only the reset gate": OneGate(UNITS, "reset"),
    "only the update gate": OneGate(UNITS, "update"),
    "GRU": GRU(UNITS, "before"),
}
SHARE = 0.9  # of answers that must be right


def runs() -> Iterator[Planned]:
    for label, model in MODELS.items():
        yield Planned(label, recipes.recall_gru(model=model))


@dataclass(frozen=True, eq=False)
class Memory:
    """What a trained model remembers: a value for each distance from 0 to the window's end."""

    run: LoggedRun
    accuracy: np.ndarray
    gradient: np.ndarray

    @property
    def remembers(self) -> int:
        """The largest distance up to which at least SHARE of the answers are right; -1 for none."""
        wrong = np.flatnonzero(self.accuracy < SHARE)
        return int(wrong[0] if len(wrong) else len(self.accuracy)) - 1


@dataclass(frozen=True, eq=False)
class Answer:
    runs: Runs
    memories: tuple[Memory, ...]

    def of(self, label: str) -> list[Memory]:
        """The memories of a model, one for each seed."""
        return [memory for memory in self.memories if memory.run.label == label]


def run(asked: NoOptions, work: Work) -> Answer:
    found = work.carry_out(runs(), (0.0, 0.95))
    return Answer(found, tuple(measured(one) for one in found))


def measured(run: LoggedRun) -> Memory:
    """By NumPy from the run's last checkpoint: the same whichever framework trained it."""
    assert run.path is not None
    task, weights = assemble(run.spec), trained(run.path).weights
    return Memory(run, accuracy_by_step(task, weights), gradient_by_distance(task, weights))


def tables(found: Answer) -> Iterator[TextTable | str]:
    last = len(found.memories[0].accuracy) - 1
    columns = ("model", "seed", "remembers", "right at distance 0", "at the last", "gradient kept")
    rows = [
        [
            one.run.label,
            str(one.run.spec.seed),
            str(one.remembers),
            *(metric("accuracy", float(value)) for value in one.accuracy[[0, -1]]),
            number(float(one.gradient[-1] / one.gradient[0])),
        ]
        for one in found.memories
    ]
    yield TextTable(columns, rows, left=("model",))
    yield (
        f"remembers: the largest distance, of at most {last}, up to which at least {SHARE:.0%} of "
        f"the answers are right. gradient kept: its norm {last} steps back / at the last step."
    )


def chart(found: Answer) -> Chart:
    accuracy = Panel(
        "Right answers against distance",
        "steps since the symbol",
        "right answers (%)",
        tuple(_means(found, lambda one: 100 * one.accuracy)),
        guides=(Guide(100 * SHARE, f"{SHARE:.0%}"),),
        y_range=(0.0, 105.0),
        caption="Models with an update gate are right at every distance; the others are not.",
    )
    gradient = Panel(
        "Gradient of the last loss, d steps back",
        "distance d",
        "norm of the gradient",
        tuple(_means(found, lambda one: one.gradient)),
        y_log=True,
        caption="Without an update gate the gradient becomes smaller with every step back.",
    )
    learning = panel(found.runs.all, "loss", "step", title="Loss as they learn", y_log=False)
    return found.runs.chart("What gates remember", accuracy, gradient, learning, columns=3)


def _means(found: Answer, values: Any) -> Iterator[Series]:
    """A curve for each model: its mean over seeds, between the lowest and the highest."""
    for label in found.runs.labels:
        each = np.stack([values(one) for one in found.of(label)])
        distances = np.arange(each.shape[1])
        band = {"low": each.min(0), "high": each.max(0)} if len(each) > 1 else {}
        yield Series(label, distances, each.mean(0), **band)


def to_dict(found: Answer) -> list[dict[str, Any]]:
    return [
        {
            "label": one.run.label,
            "seed": one.run.spec.seed,
            "run": str(one.run.path),
            "remembers": one.remembers,
            "accuracy": one.accuracy.tolist(),
            "gradient": one.gradient.tolist(),
        }
        for one in found.memories
    ]


LOOK_AT = """
After the same 300 steps, the models with an update gate answer right at every distance; the RNN and
the model with only the reset gate are below 90 % after one or two steps, and keep only some of the
eight symbols from there on.

The update gate is what remembers: where it is near 1, the new state is the old one, and nothing in
between can wipe it out. The reset gate alone does not help: it lets the model ignore its old state,
which is a way to forget.

The gradient tells why the others learn so slowly. Without an update gate it shrinks with every step
back, by a factor of 10 million or more over the window, so the last loss says almost nothing about
the first symbol. With one it keeps more than half of its size.

The gates make this easy to learn, not possible at all: an RNN that is trained three times as long
(--epochs 10) remembers the symbol to the end of this window, too.
"""

EXPERIMENT = Experiment(
    "gates",
    __doc__,
    NoOptions,
    run,
    tables,
    to_dict,
    chart,
    look_at=LOOK_AT,
    to_change=(
        "lockstep experiment gates --seeds 3",
        "lockstep experiment gates --data.window 64 --epochs 6",
        "lockstep experiment gates --epochs 10",
    ),
    quick={"data.window": 16, "data.num_sequences": 3200},
    seconds=(15, 5),
    fields=True,
    framework="torch",
)
