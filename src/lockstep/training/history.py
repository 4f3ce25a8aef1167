"""The history of a run: a row of every step and the metrics of every epoch, both also as tables.

Of a run with a folder the rows stay in its file of steps and are read when they are asked for; of
one without, they are gathered from events in an array that grows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from lockstep.errors import unknown
from lockstep.showing import Picture, ShowsItself, present
from lockstep.training import columns
from lockstep.training.events import (
    BestKept,
    CheckpointSkipped,
    EpochCompleted,
    Event,
    LogDamaged,
    ProgramCompiled,
    RemarkMade,
    RunDiverged,
    RunStarted,
    StepsCompleted,
    StepsEvaluated,
    StoppedEarly,
    described,
)
from lockstep.training.steps import RECORD, StepFile, column, lost, records_of

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS = ("loss", "grad_norm", "lr", "epoch", "batch")  # the same whenever the run is repeated
TIMES = ("seconds",)
TABLE = ("loss", "grad_norm", "lr", "epoch", "seconds")  # of the steps, as tools read it


Measured = TypeVar("Measured", EpochCompleted, StepsEvaluated)


class Epochs(ShowsItself, list[Measured], as_="epochs"):
    """The epochs that ended, or the evaluations between, in order; as a table, a row for each with
    all its metrics. `step` counts the updates before it, `seconds` those spent in steps until then.

    >>> epochs = Epochs([EpochCompleted(0, 10, {"train_loss": 0.5}, 1.5)])
    >>> epochs.to_dict()
    {'epoch': [0], 'step': [10], 'train_loss': [0.5], 'seconds': [1.5]}
    """

    def columns(self) -> dict[str, list[Any]]:
        """Each column by name; None where an epoch lacks a metric that others have."""
        names = dict.fromkeys(name for event in self for name in event.metrics)
        return {
            "epoch": [event.epoch for event in self],
            "step": [event.step for event in self],
            **{name: [event.metrics.get(name) for event in self] for name in names},
            "seconds": [event.seconds for event in self],
        }

    def to_dict(self) -> dict[str, list[Any]]:
        """Each column as a list, by name."""
        return columns.to_lists(self.columns())

    def to_csv(self, path: str | Path) -> Path:
        """Write the table as CSV."""
        return columns.to_csv(self.columns(), path)

    def to_pandas(self) -> DataFrame:
        """The table as a DataFrame, its rows named by epoch."""
        return columns.to_frame(self.columns(), index="epoch")


class History(ShowsItself, as_="history"):
    """A table with one row per step: `history[:, "loss"]`, `history[-1, "lr"]`. The column
    "seconds" holds the time of each step: that of a call of the program, divided over its steps.

    >>> h = History()
    >>> h(StepsCompleted(0, 0, loss=[3.0, 2.0], grad_norm=[1, 1], lr=[0.1, 0.1], seconds=0.5))
    >>> h[:, "loss"].tolist(), h[:, "seconds"].tolist(), len(h)
    ([3.0, 2.0], [0.25, 0.25], 2)
    """

    def __init__(self, events: Iterable[Event] = (), file: StepFile | None = None) -> None:
        self._rows = np.empty(0, RECORD)  # its first _count are in use
        self._count = 0
        self._file: StepFile | None = None
        self._epoch_starts: list[tuple[int, int]] = []  # from a step on, an epoch
        self.steps_per_epoch = 0
        self.facts: dict[str, Any] = {}  # of the data, as the run found it
        self._calls: tuple[np.ndarray, np.ndarray] | None = None
        self.epochs: Epochs[EpochCompleted] = Epochs()
        self.evaluations: Epochs[StepsEvaluated] = Epochs()  # those between the ends of epochs
        self.bests: list[BestKept] = []  # of early stopping: the last is the best
        self.stopped: StoppedEarly | None = None
        self.compile_seconds = 0.0
        self.notes: list[str] = []
        self.remarks: list[str] = []
        self.frameworks: list[tuple[str, int]] = []  # that carried the run out, from which step on
        self.damage: list[str] = []  # what of the run's record cannot be read
        for event in events:
            self(event)
        if file is not None and file.count:
            self._take_over(file)

    def __call__(self, event: Event) -> None:
        """Take an event in; steps seen before are replaced (a run that went back)."""
        if isinstance(event, StepsCompleted):
            self._add(event)
        elif isinstance(event, EpochCompleted):
            while self.epochs and self.epochs[-1].epoch >= event.epoch:
                self.epochs.pop()
            self.epochs.append(event)
        elif isinstance(event, StepsEvaluated):
            self._forget_evaluations(event.step)
            self.evaluations.append(event)
        elif isinstance(event, RunStarted):
            self.steps_per_epoch, self.facts = event.steps_per_epoch, event.facts
            self._forget_evaluations(event.step + 1)  # they are measured again
            self.stopped = None
            self._forget_bests(event.step + 1)
            if self.bests and self.bests[-1].metric != event.facts.get("watch"):
                self.bests.clear()
            if "framework" in event.facts:
                self._begin_in(event.facts["framework"], event.step)
        elif isinstance(event, BestKept):
            self._forget_bests(event.step)
            self.bests.append(event)
        elif isinstance(event, StoppedEarly):
            self.stopped = event
        elif isinstance(event, RunDiverged):
            self._forget_bests(event.kept + 1)
        elif isinstance(event, RemarkMade) and event.text not in self.remarks:
            self.remarks.append(event.text)
        elif isinstance(event, ProgramCompiled):
            self.compile_seconds, self.notes = event.seconds, event.notes
        elif isinstance(event, CheckpointSkipped | LogDamaged):
            self.damage.append(described(event))

    def _forget_evaluations(self, step: int) -> None:
        """Drop those after `step` updates or more."""
        while self.evaluations and self.evaluations[-1].step >= step:
            self.evaluations.pop()

    def _forget_bests(self, step: int) -> None:
        while self.bests and self.bests[-1].step >= step:
            self.bests.pop()

    def _begin_in(self, framework: str, step: int) -> None:
        while self.frameworks and self.frameworks[-1][1] >= step:  # it came to nothing
            self.frameworks.pop()
        if not self.frameworks or self.frameworks[-1][0] != framework:
            self.frameworks.append((framework, step))

    def __len__(self) -> int:
        return self._file.end if self._file else self._count

    def __getitem__(self, key: tuple[Any, str]) -> Any:
        rows, name = key
        if name not in COLUMNS + TIMES:
            raise unknown("column", name, COLUMNS + TIMES)
        if name == "epoch":
            return self._epochs_of_steps()[rows]
        if self._file and isinstance(rows, int) and not isinstance(rows, bool):
            step = range(len(self))[rows]
            if step >= self._file.first:
                return column(self._file[step], name)[0]
        return np.concatenate([column(part, name) for part in self._parts()])[rows]

    def columns(self) -> dict[str, np.ndarray]:
        """The table of steps: step, loss, grad_norm, lr, epoch and seconds, each in an array. A
        step that the record lost is not a number."""
        found = {"step": np.arange(len(self))} | {name: self[:, name] for name in TABLE}
        if not np.isnan(found["epoch"]).any():
            found["epoch"] = found["epoch"].astype(np.int64)
        return found

    def to_dict(self) -> dict[str, list[Any]]:
        """The table of steps, each column as a list; `history.epochs` has that of epochs."""
        return columns.to_lists(self.columns())

    def to_csv(self, path: str | Path) -> Path:
        """Write the table of steps as CSV."""
        return columns.to_csv(self.columns(), path)

    def to_pandas(self) -> DataFrame:
        """The table of steps as a DataFrame, its rows named by step."""
        return columns.to_frame(self.columns(), index="step")

    def plot(self, path: str | Path | None = None) -> Picture:
        """Show loss, metrics and learning rate; with `path`, write them there instead."""
        picture: Picture = present("plot_history", self, path)
        return picture

    @property
    def metrics(self) -> dict[str, float]:
        """The newest value of every epoch metric, and of the step loss. With early stopping what
        was measured at the best step is that of the run's weights."""
        newest: dict[str, float] = {}
        for event in self.epochs:
            newest |= event.metrics
        if self.bests:
            newest |= self.bests[-1].metrics
        if len(self):
            newest["loss"] = float(self[-1, "loss"])
        return newest

    def best_to_dict(self) -> dict[str, Any] | None:
        """Which step the run's weights are of, by early stopping, and why; None without it."""
        if not self.bests:
            return None
        best = self.bests[-1]
        early = self.stopped is not None
        return {
            "step": best.step,
            "metric": best.metric,
            "value": best.value,
            "stopped_early": early,
        }

    @property
    def seconds(self) -> float:
        """Time spent in steps."""
        lengths, seconds = self._call_times()
        return float((lengths * seconds).sum())

    def step_rates(self) -> np.ndarray:
        """Steps per second of each call, the first (warm-up) left out where there are more."""
        _, seconds = self._call_times()
        return 1.0 / np.maximum(seconds[1:] if len(seconds) > 1 else seconds, 1e-12)

    # --- where the rows are -----------------------------------------------------------------------

    def _add(self, event: StepsCompleted) -> None:
        end = event.step + len(event.loss)
        if end > len(self._rows):
            grown = lost(max(end, 2 * len(self._rows)))
            grown[: self._count] = self._rows[: self._count]
            self._rows = grown
        if event.step > self._count:  # a log that lost lines must not move later ones
            self._rows[self._count : event.step] = lost(1)
        self._rows[event.step : end] = records_of(event)
        self._count = end
        self._calls = None
        while self._epoch_starts and self._epoch_starts[-1][0] >= event.step:
            self._epoch_starts.pop()
        if not self._epoch_starts or self._epoch_starts[-1][1] != event.epoch:
            self._epoch_starts.append((event.step, event.epoch))

    def _take_over(self, file: StepFile) -> None:
        """Use the file's rows from its first step on; older logs hold those before."""
        self._file = file
        self._epoch_starts = [start for start in self._epoch_starts if start[0] < file.first]
        every = self.steps_per_epoch or file.end
        starts = np.arange(file.first - file.first % every, file.end, every)
        self._epoch_starts += [(max(s, file.first), s // every) for s in starts.tolist()]

    def _parts(self) -> Iterator[np.ndarray]:
        if self._file is None:
            yield self._rows[: self._count]
            return
        if first := self._file.first:
            yield self._rows[: min(first, self._count)]
            yield lost(max(0, first - self._count))
        for records, _ in self._file.blocks():
            yield records

    def _epochs_of_steps(self) -> np.ndarray:
        ends = [start for start, _ in self._epoch_starts[1:]] + [len(self)]
        found = np.full(len(self), np.nan)
        for (start, epoch), end in zip(self._epoch_starts, ends, strict=False):  # none if empty
            found[start:end] = epoch
        found[np.isnan(self[:, "loss"])] = np.nan
        return found

    def _call_times(self) -> tuple[np.ndarray, np.ndarray]:
        """How many steps each call had, and the seconds of each of its steps: the steps of a call
        follow each other and have the same time."""
        if self._calls is None:
            lengths: list[np.ndarray] = []
            values: list[np.ndarray] = []
            for part in self._parts():
                seconds = part["seconds"].astype(np.float64)
                if not len(seconds):
                    continue
                starts = np.flatnonzero(np.diff(seconds, prepend=np.nan) != 0)
                count = np.diff(starts, append=len(seconds))
                known = ~np.isnan(seconds[starts])
                lengths.append(count[known])
                values.append(seconds[starts][known])
            self._calls = _joined(lengths, values)
        return self._calls


def _joined(lengths: list[np.ndarray], values: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The calls of all blocks; one that two blocks share is one call."""
    count = np.concatenate(lengths or [np.zeros(0, np.int64)])
    seconds = np.concatenate(values or [np.zeros(0)])
    starts = np.flatnonzero(np.diff(seconds, prepend=np.nan) != 0)
    return (np.add.reduceat(count, starts) if len(starts) else count), seconds[starts]
