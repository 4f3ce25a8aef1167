"""Curves of runs, read from their folders: a quantity against steps, epochs, examples or seconds.

Runs with the same label, which differ in their seed, become one curve: their mean, with a band from
the smallest to the largest. Nothing here draws or starts a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lockstep.checks import one_of
from lockstep.report.charts import Panel, Series, is_wide, smoothed, smoothing_window, thinned
from lockstep.report.quantities import metric_name
from lockstep.spec import RunSpec
from lockstep.training.directory import RunDirectory
from lockstep.training.history import History

AXES = {
    "step": "step",
    "epoch": "epochs",
    "examples": "examples seen",
    "seconds": "seconds in steps",
}
OF_STEPS = {"loss": "loss", "lr": "learning rate", "grad_norm": "gradient norm"}
GRID_POINTS = 200  # where curves over seeds have different places


@dataclass(frozen=True, eq=False)
class LoggedRun:
    """A run as its folder holds it, under the name that it has in a figure."""

    label: str
    spec: RunSpec
    history: History
    status: str
    machine: Mapping[str, Any]
    path: Path | None = None

    @property
    def metrics(self) -> dict[str, float]:
        return self.history.metrics


def read_run(directory: RunDirectory, label: str = "") -> LoggedRun:
    """What a folder holds; without a label, its name."""
    name = label or directory.path.name
    history = directory.history()
    return LoggedRun(
        name, directory.spec, history, directory.status, directory.machine, directory.path
    )


def curve(run: LoggedRun, quantity: str, x: str = "step") -> tuple[np.ndarray, np.ndarray]:
    """Places and values of a quantity: of every step ("loss", "lr", "grad_norm"), or a metric at
    every evaluation ("test_accuracy", in per cent)."""
    one_of("x", x, tuple(AXES))
    if quantity in OF_STEPS:
        return _places_of_steps(run, x), np.asarray(run.history[:, quantity], np.float64)
    met = [event for event in _evaluations(run.history) if quantity in event.metrics]
    scale = 100.0 if quantity.endswith("accuracy") else 1.0
    steps = np.array([event.step for event in met], np.float64)
    places = np.array([event.seconds for event in met]) if x == "seconds" else _as(run, steps, x)
    return places, np.array([scale * event.metrics[quantity] for event in met])


def first_below(run: LoggedRun, quantity: str, goal: float, x: str) -> float | None:
    """Where a quantity was first below a goal; None if it never was."""
    places, values = curve(run, quantity, x)
    below = np.flatnonzero(values < goal)
    return float(places[below[0]]) if len(below) else None


def _evaluations(history: History) -> list[Any]:
    """Epochs, and evaluations between them, in order."""
    return sorted([*history.epochs, *history.evaluations], key=lambda event: event.step)


def _places_of_steps(run: LoggedRun, x: str) -> np.ndarray:
    """Where each step is: steps count from 0, all else is what was used when the step was done."""
    count = len(run.history)
    if x == "seconds":
        return np.cumsum(np.nan_to_num(np.asarray(run.history[:, "seconds"], np.float64)))
    steps = np.arange(count, dtype=np.float64)
    return steps if x == "step" else _as(run, steps + 1, x)


def _as(run: LoggedRun, steps: np.ndarray, x: str) -> np.ndarray:
    """So many steps as epochs or examples."""
    if x == "epoch":
        return steps / max(1, run.history.steps_per_epoch)
    return steps * run.spec.batch_size if x == "examples" else steps


def series(
    runs: Sequence[LoggedRun],
    quantity: str,
    x: str = "step",
    *,
    smooth: bool = True,
    positive: bool = False,
    **looks: Any,
) -> list[Series]:
    """A series for every label, in their order; `looks` are fields of Series for all of them, or
    functions of a label's first run that give one. With `positive`, points at x = 0 are left out: a
    logarithmic axis has no place for them."""
    found = []
    for label in dict.fromkeys(run.label for run in runs):
        same = [run for run in runs if run.label == label]
        curves = [_drawn(*curve(run, quantity, x), smooth) for run in same]
        if positive:
            curves = [(xs[xs > 0], ys[xs > 0]) for xs, ys in curves]
        curves = [(xs, ys) for xs, ys in curves if len(xs)]
        if not curves:
            continue
        own = {name: look(same[0]) if callable(look) else look for name, look in looks.items()}
        found.append(Series(label, **_joined(curves), **own))
    return found


def _drawn(x: np.ndarray, y: np.ndarray, smooth: bool) -> tuple[np.ndarray, np.ndarray]:
    window = smoothing_window(y) if smooth else 1
    places, means = smoothed(y, window)
    return thinned(x[places], means)


def _joined(curves: list[tuple[np.ndarray, np.ndarray]]) -> dict[str, Any]:
    """One curve as it is; of several their mean, lowest and highest, where all of them are."""
    if len(curves) == 1:
        return {"x": curves[0][0], "y": curves[0][1]}
    x = curves[0][0]
    if any(len(xs) != len(x) or not np.allclose(xs, x) for xs, _ in curves):
        begin, end = max(xs[0] for xs, _ in curves), min(xs[-1] for xs, _ in curves)
        x = np.linspace(begin, max(begin, end), GRID_POINTS)
    values = np.stack([np.interp(x, xs, ys) for xs, ys in curves])
    return {"x": x, "y": values.mean(0), "low": values.min(0), "high": values.max(0)}


def panel(
    runs: Sequence[LoggedRun],
    quantity: str,
    x: str = "epoch",
    *,
    title: str = "",
    y_log: bool | None = None,
    x_log: bool = False,
    looks: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Panel:
    """A quantity of every run against an axis, with names and units. Without `y_log` the scale is
    logarithmic where the values span more than a factor of thirty. `fields` are those of Panel."""
    drawn = series(runs, quantity, x, positive=x_log, **(looks or {}))
    wide = is_wide(*(item.y for item in drawn)) if y_log is None else y_log
    name = quantity_name(quantity)
    title = title or f"{name} against {AXES[x]}"
    unit = f"{name} (%)" if quantity.endswith("accuracy") else name
    return Panel(title, AXES[x], unit, tuple(drawn), y_log=wide, x_log=x_log, **fields)


def quantity_name(quantity: str) -> str:
    """
    >>> quantity_name("lr"), quantity_name("test_accuracy")
    ('learning rate', 'test accuracy')
    """
    return OF_STEPS.get(quantity) or metric_name(quantity)


def note(runs: Iterable[LoggedRun]) -> str:
    """What every figure says of its runs: data, framework, devices, seed, machine."""
    runs = list(runs)
    data = _distinct(_data_of(run) for run in runs)
    frameworks = _distinct(f"{r.spec.framework} {r.machine.get('version', '')}" for r in runs)
    seeds = sorted({run.spec.seed for run in runs})
    several = len(seeds) > 2 and seeds == list(range(seeds[0], seeds[-1] + 1))
    said = f"{seeds[0]} to {seeds[-1]}" if several else ", ".join(map(str, seeds))
    machines = _distinct(machine_words(run.machine) for run in runs)
    word = "seeds" if len(seeds) > 1 else "seed"
    return f"data: {data} · {frameworks} · {word} {said} · {machines}"


def machine_words(machine: Mapping[str, Any]) -> str:
    """What a figure says of the machine that it was measured on.

    >>> machine_words({"processor": "Example 1", "cores": 2})
    'Example 1, 2 cores'
    """
    processor = machine.get("processor", "an unknown processor")
    return f"{processor}, {machine.get('cores', '?')} cores"


def _data_of(run: LoggedRun) -> str:
    facts = run.history.facts
    if "edition" not in facts:
        return "a person's own arrays"
    real = "" if facts.get("place") == "generated" else "real, "
    return f"{facts.get('name', run.spec.data.kind)} ({real}{facts['edition']})"


def _distinct(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(text.strip() for text in texts))
