"""Samples of a run: its weights every few steps, kept in its folder as it trains."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lockstep.array_files import from_file, to_bytes
from lockstep.experiments.langevin.posterior import Posterior
from lockstep.files import write_whole
from lockstep.report.curves import LoggedRun
from lockstep.spec.batch_scaling import base_rate
from lockstep.task import assemble
from lockstep.training.events import CheckpointSaved, Event, RunStarted, StepsCompleted
from lockstep.training.run_state import Training

EVERY = 10  # steps between two samples
BURN_IN = 500  # steps: the slowest part of the way to the minimum has shrunk to 0.983^500 < 0.001
FILE = "samples.safetensors"


class Sampler:
    """Keeps the weights of every EVERY-th step in the run's folder, whenever the run is saved."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.points: list[np.ndarray] = []

    def __call__(self, event: Event, run: Training) -> None:
        assert run.folder is not None
        if isinstance(event, RunStarted):
            steps, points = read_samples(run.folder)
            known = steps <= event.step  # later ones will be taken again
            self.steps, self.points = steps[known].tolist(), list(points[known])
        elif isinstance(event, StepsCompleted) and run.step % EVERY == 0:
            self.steps.append(run.step)
            self.points.append(point(run.program.dump(run.state).weights))
        elif isinstance(event, CheckpointSaved) and self.steps:
            arrays = {"step": np.array(self.steps), "point": np.stack(self.points)}
            write_whole(run.folder / FILE, to_bytes(arrays, {}))


def point(weights: dict[str, np.ndarray]) -> np.ndarray:
    """All weights in one row, the bias last."""
    return np.concatenate([np.ravel(weights[name]) for name in ("w", "b")])


def read_samples(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """The steps at which samples were taken, and the samples: (n,), (n, 6)."""
    if not (folder / FILE).exists():
        return np.zeros(0, np.int64), np.zeros((0, 0))
    arrays, _ = from_file(folder / FILE)
    return arrays["step"], arrays["point"]


class Sampled:
    """The samples of a run after its burn-in, and what they should be."""

    def __init__(self, run: LoggedRun) -> None:
        assert run.path is not None
        data = assemble(run.spec).splits["train"]
        self.label, self.seed = run.label, run.spec.seed
        self.posterior = Posterior(data["x"], data["y"])
        self.temperature: float = run.spec.optimizer.temperature  # type: ignore[attr-defined]
        steps, points = read_samples(run.path)
        self.points = points[steps > BURN_IN].astype(np.float64)
        self.full = run.spec.data.order == "in_order"  # type: ignore[attr-defined]
        batch, lr = 0 if self.full else run.spec.batch_size, base_rate(run.spec.schedule)
        self.of_steps = self.posterior.covariance_of_steps(self.temperature, lr, batch).diagonal()

    @property
    def variances(self) -> np.ndarray:
        """Of each weight, around the minimum."""
        return np.asarray(np.mean((self.points - self.posterior.minimum) ** 2, axis=0))

    @property
    def expected(self) -> np.ndarray:
        """The posterior's variance of each weight."""
        return self.posterior.covariance(self.temperature).diagonal()

    @property
    def ratios(self) -> np.ndarray:
        """Measured variance over the posterior's, for each weight."""
        return np.asarray(self.variances / self.expected)
