"""What a run returns: its history, its final state and how it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lockstep.ops import Snapshot
from lockstep.showing import Picture, ShowsItself, present
from lockstep.spec import OwnData, RunSpec
from lockstep.task import Task
from lockstep.training.directory import RunDirectory
from lockstep.training.history import History
from lockstep.training.references import references

if TYPE_CHECKING:
    from lockstep.training.predictions import Predictions


@dataclass(frozen=True, repr=False)
class Result(ShowsItself, as_="result"):
    """History, final state and how the run ended: completed, stopped, diverged or interrupted.

    Its task may be given as a function that assembles it, which is called when it is needed."""

    spec: RunSpec
    given_task: Task | Callable[[], Task]
    history: History
    snapshot: Snapshot
    status: str
    directory: Path | None = None
    ran: bool = True  # False: it was completed before, and nothing was done

    @cached_property
    def task(self) -> Task:
        """The data, model and loss."""
        return self.given_task if isinstance(self.given_task, Task) else self.given_task()

    @property
    def _opened_folder(self) -> RunDirectory | None:
        """Of a result that was brought back from a folder, which knows the data's symbols, classes
        and figures: the data itself may be gone. Own arrays are in the task."""
        if self.directory is None or isinstance(self.given_task, Task):
            return None
        return None if isinstance(self.spec.data, OwnData) else RunDirectory(self.directory)

    @property
    def weights(self) -> dict[str, Any]:
        """The final weights, canonical, by name; with patience, those of the best measurement."""
        return self.snapshot.best or self.snapshot.weights

    @property
    def metrics(self) -> dict[str, float]:
        """The newest value of every metric; with patience, those measured with the best weights."""
        return self.history.metrics

    @property
    def how_to_continue(self) -> str:
        """What resumes a run that was stopped before its end; "" for one that has come to it."""
        if self.status not in ("interrupted", "stopped", "unfinished"):
            return ""
        if self.directory is None:
            return "it has no folder to be resumed from: train it with out=..."
        found = all(references(self.spec).values())
        mine = "" if found else ", mine"
        return f"continue it with: ls.resume({str(self.directory)!r}{mine})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a program to read."""
        rates = self.history.step_rates()
        return {
            "run": str(self.directory) if self.directory else None,
            "name": self.spec.name,
            "framework": self.spec.framework,
            "hash": self.spec.hash,
            "status": self.status,
            "ran": self.ran,
            "frameworks": [[name, step] for name, step in self.history.frameworks],
            "steps": len(self.history),
            "metrics": self.metrics,
            "best": self.history.best_to_dict(),
            "last_batch_loss": self.metrics.get("loss"),  # metrics.loss by a clearer name
            "seconds": self.history.seconds,
            "compile_seconds": self.history.compile_seconds,
            "steps_per_second": float(np.median(rates)) if len(rates) else None,
            "notes": self.history.notes,
            "remarks": self.history.remarks,
            "damage": self.history.damage,
        }

    def show(self) -> None:
        """Print how the run ended: metrics, speed, and which implementation ran."""
        present("show_result", self)

    def plot(self, path: str | Path | None = None) -> Picture:
        """Show loss, metrics and learning rate: in a notebook as a picture, in a terminal as text;
        a script whose output goes elsewhere shows nothing. The picture is returned: save(path)
        writes it. With `path` it is written there, as PNG or SVG, and not shown."""
        picture: Picture = present("plot_result", self, path)
        return picture

    def generate(self, prefix: str, num: int) -> str:
        """The prefix and `num` more symbols from a language model."""
        from lockstep.training.generate import continued, generate, language_of

        if folder := self._opened_folder:
            return continued(*language_of(folder), self.weights, prefix, num)
        return generate(self.task, self.weights, prefix, num)

    def predict(self, x: Any, framework: str = "") -> Predictions:
        """What the model says of new examples: numbers in the target's own units, or classes.

        `x` is as the data was before it was standardised: an array with a row for each example,
        columns by name, pictures, a text; or the Path of a file. Computed in the run's framework,
        unless another is named.
        """
        from lockstep.training.predict import of_run, of_task

        if folder := self._opened_folder:
            return of_run(folder, self.weights, {})(x, framework)
        return of_task(self.spec, self.task, self.weights)(x, framework)
