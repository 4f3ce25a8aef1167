"""What a sweep found: a trial for each setting, which of them is best, and the sweep itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lockstep.errors import InputError, unknown
from lockstep.showing import Picture, ShowsItself, present
from lockstep.spec import RunSpec
from lockstep.sweeps.command import train_command
from lockstep.sweeps.grid import Grid
from lockstep.training.early_stopping import smaller_is_better

PREFERRED = (
    *("validation_accuracy", "validation_loss", "test_accuracy", "test_loss"),
    *("final_train_loss", "train_loss", "loss"),
)
SPLITS = ("train", "final_train", "validation", "test")  # as metrics name them


@dataclass(frozen=True, eq=False)
class Trial:
    """One setting and what came of its run. `status`: completed or diverged, or failed with the
    problem. `seconds` are those of its steps; of settings trained together, its share of them."""

    settings: Mapping[str, Any]
    spec: RunSpec
    status: str
    metrics: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    losses: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)  # of every step
    problem: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, without the losses."""
        return {
            "settings": dict(self.settings),
            "hash": self.spec.hash,
            "status": self.status,
            "metrics": dict(self.metrics),
            "steps": len(self.losses),
            "seconds": self.seconds,
            "problem": self.problem,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(ShowsItself, as_="sweep"):
    """The trials of a grid, in its order. `source` is the recipe or file that the run is from."""

    run: RunSpec
    grid: Grid
    rows: tuple[Trial, ...]
    metric: str
    notes: tuple[str, ...] = ()
    directory: Path | None = None
    source: str = ""

    @property
    def best(self) -> Trial | None:
        """The completed trial with the best value of the metric; None where none completed."""
        able = [r for r in self.rows if r.status == "completed" and math.isfinite(self.value(r))]
        return (min if smaller_is_better(self.metric) else max)(able, key=self.value, default=None)

    def value(self, trial: Trial) -> float:
        """The trial's metric; not a number where it has none, or did not complete."""
        completed = trial.status == "completed"
        return trial.metrics.get(self.metric, math.nan) if completed else math.nan

    def command(self, trial: Trial) -> str:
        """The command that repeats a trial alone; "" for a run that no command can describe."""
        return train_command(self.source or self.run.name, trial.spec)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a program to read."""
        best = self.best
        return {
            "run": self.run.to_dict(),
            "grid": self.grid.to_dict(),
            "metric": self.metric,
            "rows": [row.to_dict() for row in self.rows],
            "best": best.to_dict() | {"command": self.command(best)} if best else None,
            "notes": list(self.notes),
            "directory": str(self.directory) if self.directory else None,
        }

    def show(self) -> None:
        """Print the table of settings, the best one, and the command that repeats it."""
        present("show_sweep", self)

    def plot(self, path: str | Path | None = None) -> Picture:
        """Show the metric over the grid; with `path`, write the picture there instead."""
        picture: Picture = present("plot_sweep", self, path)
        return picture


def check_metric(metric: str) -> None:
    """Raise, before anything is trained, for a name that can be no metric."""
    kinds = ("loss", "accuracy", "perplexity")
    if metric.rpartition("_")[2] not in kinds:
        known = [f"{split}_{kind}" for split in SPLITS for kind in kinds]
        raise unknown("metric", metric, ["loss", *known])


def chosen_metric(asked: str, trials: tuple[Trial, ...]) -> str:
    """The metric asked for, or else the first of those preferred that the trials have."""
    known = dict.fromkeys(name for trial in trials for name in trial.metrics)
    if asked and known and asked not in known:
        problem, remedy = "is not measured by these runs", f"Known: {', '.join(known)}."
        raise InputError("metric", asked, problem, remedy)
    return asked or next((name for name in PREFERRED if name in known), "loss")
