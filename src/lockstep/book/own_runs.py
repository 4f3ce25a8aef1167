"""What Lockstep's own experiment of a chapter gives and takes, beside the chapter's cells.

The runs are those of the experiment on the same subject (`lockstep experiment NAME`), in the order
of the figures that the chapter's cells draw, with as many updates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from lockstep import recipes
from lockstep.book.chapter import Chapter
from lockstep.d2l.options import Options
from lockstep.experiments import devices, gru, minibatch, schedules
from lockstep.experiments.runs import Planned, Work
from lockstep.report.curves import LoggedRun

QUICK = Options()  # how much of a training is left in a quick run of the cells
TRAINED = "fused or compiled"  # the way of the experiment `minibatch` in which others run too

# the metric of a run that a curve of the chapters' figures shows
METRICS = {
    "loss": "final_train_loss",
    "train loss": "train_loss",  # the mean over the epoch's batches, there and here
    "train": "train_perplexity",  # as train_ch8 names its curve
    "train acc": "final_train_accuracy",
    "test acc": "test_accuracy",
}


@dataclass(frozen=True)
class Subject:
    """An experiment, what only its chapter's cells have, and its runs in the chapter's order.
    `steps` is how many updates a quick run makes; None: it is short already."""

    experiment: str
    mark: str
    runs: Callable[[], list[Planned]]
    steps: int | None


def _minibatch() -> list[Planned]:
    own = minibatch.of_way(minibatch.runs(None), TRAINED)
    concise = recipes.changed(own[-1].spec, {"style": "concise"})
    return [*own, replace(own[-1], label=f"{own[-1].label}, concise", spec=concise)]


def _schedules() -> list[Planned]:
    kept = ("constant", "square root", "multi-factor", "cosine", "cosine after warm-up")
    own = {run.label: run for run in schedules.runs(schedules.Question())}
    return [own[label] for label in kept]  # the chapter trains with no factor schedule


SUBJECTS = (
    Subject("gru", "def init_gru_state", lambda: list(gru.runs(gru.Question())), 8 * QUICK.epochs),
    Subject("minibatch", "def train_concise_ch11", _minibatch, None),
    Subject("schedules", "class SquareRootScheduler", _schedules, 30 * QUICK.train_batches),
    Subject("devices", "def allreduce",
            lambda: list(devices.runs(devices.Question(devices=(1, 2)))), 10 * QUICK.train_batches),
)  # fmt: skip


@dataclass(frozen=True)
class OwnRun:
    """One run of Lockstep: its metrics at the end, and the seconds in its steps."""

    label: str
    metrics: Mapping[str, float]
    seconds: float

    def value(self, curve: str) -> float | None:
        """What a curve of the chapter's figure shows, here."""
        return self.metrics.get(METRICS.get(curve, ""))

    def to_dict(self) -> dict[str, object]:
        return {"label": self.label, "metrics": dict(self.metrics), "seconds": self.seconds}


def subject_of(chapter: Chapter, tab: str) -> Subject | None:
    """The experiment on a chapter's subject; None where Lockstep has none."""
    source = "\n".join(cell.source for cell in chapter.cells(tab))
    return next((subject for subject in SUBJECTS if subject.mark in source), None)


def carried_out(
    subject: Subject, framework: str, folder: Path, *, quick: bool,
    progress: Callable[[float, str], None],
) -> tuple[OwnRun, ...]:  # fmt: skip
    """Carry out the runs in a framework; those that the folder has already are taken from there."""
    changes = {"framework": framework}
    shorter = {"max_steps": subject.steps} if quick and subject.steps else {}
    runs = [replace(run, listener=None) for run in subject.runs()]
    found = Work(folder, progress, changes, shorter).carry_out(runs)
    return tuple(map(_own, found))


def _own(run: LoggedRun) -> OwnRun:
    return OwnRun(run.label, dict(run.metrics), float(run.history.seconds))
