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

import numpy as np

from lockstep import recipes
from lockstep.experiments.langevin.samples import EVERY, Sampled, Sampler
from lockstep.experiments.runs import Planned, Runs, of_runs
from lockstep.report.charts import INK, SERIES, Chart, Panel, Series
from lockstep.report.quantities import number, percent
from lockstep.report.tables import TextTable
from lockstep.spec import SGLD, Airfoil, RunSpec

TEMPERATURES = (1e-5, 1e-4, 1e-3)
LR = 0.1
STEPS = 80_000
COPIES = 200  # of the data set: an epoch of so many steps, each with every example once
WEIGHTS = ("frequency", "angle", "chord", "speed", "thickness", "bias")
SHOWN = (1, 4)  # the two weights that depend on each other most
FULL, BATCHES = "full gradients", "batches of 100"
LOOKS = {FULL: SERIES[0], BATCHES: SERIES[1]}


def runs(asked: object) -> Iterator[Planned]:
    data = Airfoil(copies=COPIES, order="in_order")
    spec = recipes.airfoil_linear(data=data, batch_size=1500, lr=LR, epochs=STEPS, evaluate=())
    spec = replace(spec, max_steps=STEPS)
    for temperature in TEMPERATURES:
        yield _sampled(f"T={temperature:g}", spec, temperature)
    # with replacement, so that the noise of one batch says nothing about the next
    noisy = replace(spec, batch_size=100, data=replace(data, copies=1, order="with_replacement"))
    yield _sampled(f"T={TEMPERATURES[1]:g}, b=100", noisy, TEMPERATURES[1])


def _sampled(label: str, spec: RunSpec, temperature: float) -> Planned:
    spec = replace(spec, optimizer=SGLD(temperature=temperature))
    return Planned(label, spec, (Sampler(),), event_steps=EVERY)


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
    names = ("weight", "at the minimum", "std, posterior", "std, samples", "variance ratio")
    values = (one.posterior.minimum, np.sqrt(one.expected), np.sqrt(one.variances), one.ratios)
    cells = [
        [name, *(number(float(column[i])) for column in values)] for i, name in enumerate(WEIGHTS)
    ]
    yield TextTable(names, cells, left=("weight",), title=one.label)
    worst = max(float(np.abs(one.ratios - 1).max()) for one in sampled if one.full)
    yield f"With full gradients every variance is within {percent(worst)} of the posterior's."


def _middle(sampled: list[Sampled]) -> Sampled:
    """The run with full gradients at the temperature that the run with batches has."""
    return next(one for one in sampled if one.full and one.temperature == TEMPERATURES[1])


def chart(found: Runs) -> Chart:
    sampled = [Sampled(run) for run in found]
    full, noisy = [o for o in sampled if o.full], [o for o in sampled if not o.full]
    by_temperature = Panel(
        "Spread against temperature",
        "temperature T",
        "std of the weights (root mean square)",
        (_line(full[0]), _spread(noisy, BATCHES), _spread(full, FULL)),
        x_log=True,
        y_log=True,
        caption="Measured spreads lie on the posterior's line; with batches of 100 above it.",
    )
    middle = _middle(sampled)
    scatter = Panel(
        f"Two weights at T={middle.temperature:g}, and 95 % of the posterior",
        f"weight of {WEIGHTS[SHOWN[0]]}",
        f"weight of {WEIGHTS[SHOWN[1]]}",
        (_cloud(noisy[0], BATCHES), _cloud(middle, FULL), _ellipse(middle)),
        caption="With full gradients the samples fill the ellipse of the posterior.",
    )
    return found.chart("Langevin noise on linear regression", by_temperature, scatter)


def _line(one: Sampled) -> Series:
    temperatures = [min(TEMPERATURES) / 2, max(TEMPERATURES) * 2]
    spreads = [_size(one.posterior.covariance(t).diagonal()) for t in temperatures]
    return Series("posterior", temperatures, spreads, INK)


def _spread(sampled: list[Sampled], label: str) -> Series:
    temperatures, spreads = zip(
        *((o.temperature, _size(o.variances)) for o in sampled), strict=True
    )
    return Series(label, temperatures, spreads, LOOKS[label], line=False, marker="circle")


def _size(variances: np.ndarray) -> float:
    return float(np.sqrt(variances.mean()))


def _cloud(one: Sampled, label: str) -> Series:
    x, y = one.points[:: max(1, len(one.points) // 800)][:, SHOWN].T
    return Series(label, x, y, LOOKS[label], line=False, marker="circle", alpha=0.35)


def _ellipse(one: Sampled) -> Series:
    """Where the posterior of two weights has 95 % of its mass: radius^2 = -2 log 0.05."""
    covariance = one.posterior.covariance(one.temperature)[np.ix_(SHOWN, SHOWN)]
    turn = np.linspace(0, 2 * np.pi, 200)
    circle = np.sqrt(-2 * np.log(0.05)) * np.stack([np.cos(turn), np.sin(turn)])
    x, y = np.linalg.cholesky(covariance) @ circle + one.posterior.minimum[list(SHOWN), None]
    return Series("posterior", x, y, INK)


LOOK_AT = """
With full gradients the samples scatter around the minimum exactly as wide as the posterior says:
the standard deviation grows with the square root of the temperature, over a factor of a hundred in
T, and the variance of each of the six weights is within 10 % of the closed form. (With one seed the
noise is the same at every temperature, only scaled, and so are the deviations from the line.)

The two weights on the right are of features that rise together, angle and thickness: the data says
much about their sum and little about their difference, so the cloud is long and tilted.

A few per cent of the difference are no chance: steps of finite size spread the weights more, by the
factor (I - lr H / 2)^-1, which the last column predicts. Batches of 100 spread them three times as
much, for their gradients are noisy too. That noise is not in proportion to the posterior: it fills
the narrow direction of the ellipse as well, so it is no substitute for the noise that is added.
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
    quick={"max_steps": 5000},
    seconds=(33, 6),
    framework="jax",
)
