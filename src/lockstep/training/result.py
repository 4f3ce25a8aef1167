"""What a run returns: its history, its final state and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lockstep.ops import Snapshot
from lockstep.showing import present
from lockstep.spec import RunSpec
from lockstep.task import Task
from lockstep.training.history import History

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lockstep.training.predictions import Predictions


@dataclass(frozen=True)
class Result:
    """History, final state and how the run ended: completed, stopped, diverged or interrupted."""

    spec: RunSpec
    task: Task
    history: History
    snapshot: Snapshot
    status: str
    directory: Path | None = None
    ran: bool = True  # False: it was completed before, and nothing was done

    @property
    def weights(self) -> dict[str, Any]:
        """The final weights, canonical, by name."""
        return self.snapshot.weights

    @property
    def metrics(self) -> dict[str, float]:
        """The newest value of every metric."""
        return self.history.metrics

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

    def plot(self, path: str | Path | None = None) -> Figure:
        """Loss, metrics and learning rate as a figure; also written to `path` if one is given."""
        figure: Figure = present("plot_result", self, path)
        return figure

    def generate(self, prefix: str, num: int) -> str:
        """The prefix and `num` more symbols from a language model."""
        from lockstep.training.generate import generate

        return generate(self.task, self.weights, prefix, num)

    def predict(self, x: Any, framework: str = "") -> Predictions:
        """What the model says of new examples: numbers in the target's own units, or classes.

        `x` is as the data was before it was standardised: an array with a row for each example,
        columns by name, pictures, a text; or the Path of a file. Computed in the run's framework,
        unless another is named.
        """
        from lockstep.training.predict import of_task

        return of_task(self.spec, self.task, self.weights)(x, framework)
