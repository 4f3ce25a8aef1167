"""Does gradient descent with the right noise draw samples from the posterior?

Trains the linear model on the airfoil data with w <- w - lr g + sqrt(2 lr T) n (SGLD), n standard
normal, and keeps the weights every few steps. They settle around the minimum with a density
proportional to exp(-L(w) / T). The loss L is quadratic here, so the spread is known in closed form:
the covariance T H^-1, with H = X^T X / N. The gradients are those of all 1,500 examples, at several
temperatures T; one more run has batches of 100, whose gradients have noise of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from lockstep import recipes
from lockstep.array_files import from_file, to_bytes
from lockstep.experiments.runs import Planned, Runs, of_runs
from lockstep.files import write_whole
from lockstep.report.charts import INK, SERIES, Chart, Panel, Series
from lockstep.report.curves import LoggedRun
from lockstep.report.quantities import number, percent
from lockstep.report.tables import TextTable
from lockstep.spec import SGLD, RunSpec
from lockstep.task import assemble
from lockstep.training.events import CheckpointSaved, Event, RunStarted, StepsCompleted
from lockstep.training.run_state import Training

TEMPERATURES = (1e-5, 1e-4, 1e-3)
LR = 0.1
EVERY = 10  # steps between two samples
BURN_IN = 300  # steps: the slowest part of the way to the minimum has shrunk by 0.98^300 < 0.01
STEPS = 80_000
COPIES = 200  # of the data set: an epoch of so many steps, each with every example once
FILE = "samples.safetensors"
WEIGHTS = ("frequency", "angle", "chord", "speed", "thickness", "bias")
SHOWN = (1, 4)  # the two weights that depend on each other most


def runs(asked: object) -> Iterator[Planned]:
    spec = recipes.airfoil_linear(batch_size=1500, lr=LR, epochs=STEPS, evaluate=())
    data = replace(spec.data, copies=COPIES, order="in_order")
    spec = replace(spec, max_steps=STEPS, data=data)
    for temperature in TEMPERATURES:
        yield _sampled(f"T={temperature:g}", spec, temperature)
    # with replacement, so that the noise of one batch says nothing about the next
    noisy = replace(spec, batch_size=100, data=replace(data, copies=1, order="with_replacement"))
    yield _sampled(f"T={TEMPERATURES[1]:g}, b=100", noisy, TEMPERATURES[1])


def _sampled(label: str, spec: RunSpec, temperature: float) -> Planned:
    spec = replace(spec, optimizer=SGLD(temperature=temperature))
    return Planned(label, spec, (Sampler(),), event_steps=EVERY)


# --- samples --------------------------------------------------------------------------------------


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


# --- what they should be --------------------------------------------------------------------------


class Posterior:
    """The closed form for the data of a run: where the minimum is, and the spread around it."""

    def __init__(self, x: np.ndarray, y: np.ndarray) -> None:
        self.x = np.column_stack([x, np.ones(len(x))]).astype(np.float64)  # (N, 6)
        self.y = np.ravel(y).astype(np.float64)
        self.hessian = self.x.T @ self.x / len(x)

    @cached_property
    def minimum(self) -> np.ndarray:
        return np.linalg.solve(self.hessian, self.x.T @ self.y / len(self.y))

    def covariance(self, temperature: float) -> np.ndarray:
        """T H^-1: that of the density exp(-L / T)."""
        return temperature * np.linalg.inv(self.hessian)

    def covariance_of_steps(self, temperature: float, lr: float, batch: int = 0) -> np.ndarray:
        """The covariance S that a step keeps: S = A S A + 2 lr T I + lr^2 C / batch, A = I - lr H.

        C is the covariance of one example's gradient at the minimum; without `batch` there is none,
        and S = T H^-1 (I - lr H / 2)^-1, which is the posterior's as lr becomes small.
        """
        rates, axes = np.linalg.eigh(self.hessian)
        noise = 2 * lr * temperature * np.eye(len(rates))
        if batch:
            gradients = self.x * (self.x @ self.minimum - self.y)[:, None]
            noise = noise + lr**2 / batch * np.cov(gradients.T, bias=True)
        shrink = 1 - lr * rates
        kept = axes.T @ noise @ axes / (1 - np.outer(shrink, shrink))
        return np.asarray(axes @ kept @ axes.T)


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
        batch, lr = 0 if self.full else run.spec.batch_size, run.spec.schedule(0)
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


# --- how it is shown ------------------------------------------------------------------------------


def tables(found: Runs) -> Iterator[TextTable | str]:
    sampled = [Sampled(run) for run in found]
    columns = ("run", "seed", "samples", "mean", "lowest", "highest", "expected of these steps")
    rows = [
        [
            one.label,
            str(one.seed),
            f"{len(one.points):,}",
            *(
                number(float(value))
                for value in (one.ratios.mean(), min(one.ratios), max(one.ratios))
            ),
            number(float(np.mean(one.of_steps / one.expected))),
        ]
        for one in sampled
    ]
    title = "variance of the samples / variance of the posterior, over the six weights"
    yield TextTable(columns, rows, left=("run",), title=title)
    one = _middle(sampled)
    columns = ("weight", "at the minimum", "std, posterior", "std, samples", "variance ratio")
    values = (one.posterior.minimum, np.sqrt(one.expected), np.sqrt(one.variances), one.ratios)
    cells = [
        [name, *(number(float(column[i])) for column in values)] for i, name in enumerate(WEIGHTS)
    ]
    yield TextTable(columns, cells, left=("weight",), title=one.label)
    worst = max(float(np.abs(one.ratios - 1).max()) for one in sampled if one.full)
    yield f"With full gradients every variance is within {percent(worst)} of the posterior's."


def _middle(sampled: list[Sampled]) -> Sampled:
    """The run with full gradients at the temperature that the run with batches has."""
    return next(one for one in sampled if one.full and one.temperature == TEMPERATURES[1])


def chart(found: Runs) -> Chart:
    sampled = [Sampled(run) for run in found]
    by_temperature = Panel(
        "Spread against temperature",
        "temperature T",
        "standard deviation of a weight",
        tuple(_spreads(sampled)),
        x_log=True,
        y_log=True,
        caption="Measured spreads lie on the line of the posterior; with batches above it.",
    )
    middle = _middle(sampled)
    batches = next(one for one in sampled if not one.full)
    names = [WEIGHTS[i] for i in SHOWN]
    scatter = Panel(
        f"Samples of two weights, T={middle.temperature:g}",
        f"weight of {names[0]}",
        f"weight of {names[1]}",
        (
            _cloud(batches, "batches of 100", SERIES[1]),
            _cloud(middle, "full gradients", SERIES[0]),
            _ellipse(middle),
        ),
        caption="The samples fill the ellipse that holds 95 % of the posterior.",
    )
    return found.chart("Langevin noise on linear regression", by_temperature, scatter)


def _spreads(sampled: list[Sampled]) -> Iterator[Series]:
    full = [one for one in sampled if one.full]
    temperatures = [min(TEMPERATURES) / 2, max(TEMPERATURES) * 2]
    for i, colour in zip((SHOWN[0], len(WEIGHTS) - 1), SERIES, strict=False):
        line = [np.sqrt(full[0].posterior.covariance(t)[i, i]) for t in temperatures]
        yield Series(f"{WEIGHTS[i]}, posterior", temperatures, line, colour)
        for kind, marker in ((full, "circle"), ([o for o in sampled if not o.full], "diamond")):
            label = "samples" if kind is full else "samples with batches of 100"
            yield Series(
                f"{WEIGHTS[i]}, {label}",
                [one.temperature for one in kind],
                [float(np.sqrt(one.variances[i])) for one in kind],
                colour,
                line=False,
                marker=marker,
            )


def _cloud(one: Sampled, label: str, colour: str) -> Series:
    points = one.points[:: max(1, len(one.points) // 800)][:, SHOWN]
    return Series(
        label, points[:, 0], points[:, 1], colour, line=False, marker="circle", alpha=0.35
    )


def _ellipse(one: Sampled) -> Series:
    """Where the posterior of two weights has 95 % of its mass: radius^2 = -2 log 0.05."""
    covariance = one.posterior.covariance(one.temperature)[np.ix_(SHOWN, SHOWN)]
    turn = np.linspace(0, 2 * np.pi, 200)
    circle = np.sqrt(-2 * np.log(0.05)) * np.stack([np.cos(turn), np.sin(turn)])
    x, y = np.linalg.cholesky(covariance) @ circle + one.posterior.minimum[list(SHOWN), None]
    return Series("95 % of the posterior", x, y, INK)


LOOK_AT = """
TODO
"""

EXPERIMENT = of_runs(
    "langevin",
    __doc__,
    runs,
    tables=tables,
    chart=chart,
    look_at=LOOK_AT,
    to_change=(
        "lockstep experiment langevin --seeds 3",
        "lockstep experiment langevin --lr 0.3",
        "lockstep experiment langevin --max-steps 200000",
    ),
    quick={"max_steps": 3000},
    seconds=(60, 8),
    framework="jax",
)
