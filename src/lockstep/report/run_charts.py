"""Charts of runs: the loss, metrics and learning rate of one, or of several over each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lockstep.report.charts import (
    DASHES,
    MUTED,
    SERIES,
    Chart,
    Panel,
    Series,
    framework_colour,
    is_wide,
    smoothed,
    smoothing_window,
    thinned,
)
from lockstep.report.curves import LoggedRun, note, panel
from lockstep.report.quantities import metric_name, words
from lockstep.sweeps.trials import SPLITS

if TYPE_CHECKING:
    from lockstep.training.history import History

MOST_MARKED = 30  # epochs that get a mark each


def run_chart(
    history: History, title: str = "", framework: str = "", said: str = "", *, timed: bool = False
) -> Chart:
    """One run: loss of every step; metrics of every epoch, each kind on its own axes; the rate.

    With `timed`, also the loss against the time spent in steps. `said` is the chart's note.
    """
    colour = framework_colour(framework) if framework else SERIES[0]
    panels = [
        _loss_panel(history, colour),
        *metrics_panels(history),
        _rate_panel(history),
        *([_time_panel(history, colour)] if timed else []),
    ]
    return Chart(title, tuple(panels), said)


def runs_chart(runs: Sequence[LoggedRun], x: str = "step", title: str = "") -> Chart:
    """Several runs over each other against steps, epochs, examples or seconds: the loss of every
    step, each metric that any of them has, and the learning rates."""
    names = dict.fromkeys(
        name for run in runs for event in run.history.epochs for name in event.metrics
    )
    kept = [*names]
    labels = list(dict.fromkeys(run.label for run in runs))

    def dash(run: LoggedRun) -> str:  # tells apart those that share a colour
        return DASHES[labels.index(run.label) // len(SERIES) % len(DASHES)]

    looks = {"dash": dash}
    loss = panel(runs, "loss", x, wide=True, looks=looks)
    if any(smoothing_window(run.history[:, "loss"]) > 1 for run in runs):
        loss = replace(loss, y="loss, running mean")
    panels = [loss]
    panels += [panel(runs, name, x, looks={**looks, "marker": _marker}) for name in kept]
    rates = {**looks, "steps": True, "smooth": False}
    panels.append(panel(runs, "lr", x, looks=rates, y_zero=True, y_log=False))
    return Chart(title, tuple(p for p in panels if p.series), note(runs))


def _marker(run: LoggedRun) -> str:
    return "circle" if len(run.history.epochs) <= MOST_MARKED else ""


def _loss_panel(history: History, colour: str) -> Panel:
    """The loss of every step; where it is noisy, faint, under its running mean."""
    loss = history[:, "loss"]
    window = smoothing_window(loss)
    places, means = smoothed(loss, window)
    each = thinned(np.arange(len(loss)), loss)
    series = [Series("each step", *each, colour=colour)]
    if window > 1:
        mean = Series(f"mean of {window} steps", *thinned(places, means), colour=colour, width=2)
        series = [Series("each step", *each, colour=colour, alpha=0.3, width=0.9), mean]
    return Panel(
        "loss of every step", "step", "loss", tuple(series), y_log=is_wide(means), wide=True
    )


def _time_panel(history: History, colour: str) -> Panel:
    loss, seconds = history[:, "loss"], np.nan_to_num(history[:, "seconds"])
    window = smoothing_window(loss)
    places, means = smoothed(loss, window)
    points = thinned(np.cumsum(seconds)[places], means)
    y = f"loss, mean of {window} steps" if window > 1 else "loss"
    series = (Series("loss at that time", *points, colour=colour),)
    return Panel(
        "loss against time", "seconds in steps", y, series, y_log=is_wide(means), wide=True
    )


def _rate_panel(history: History) -> Panel:
    """The learning rate that every step used."""
    lrs = history[:, "lr"]
    points = thinned(np.arange(len(lrs)), lrs)
    series = (Series("learning rate", *points, colour=MUTED, steps=True),)
    return Panel("learning rate of every step", "step", "learning rate", series, y_zero=True)


def metrics_panels(history: History) -> list[Panel]:
    """A panel for each kind of metric that the run's epochs have."""
    kinds = dict.fromkeys(kind_of(name) for event in history.epochs for name in event.metrics)
    return [_metrics_panel(history, kind) for kind in kinds]


def _metrics_panel(history: History, kind: str) -> Panel:
    """Metrics of one kind, each with a colour of its own."""
    scale = 100 if kind == "accuracy" else 1
    series = []
    for name, colour in zip(_metrics_of(history, kind), SERIES, strict=False):
        met = [event for event in history.epochs if name in event.metrics]
        epochs = np.array([event.epoch + 1 for event in met])
        values = np.array([scale * event.metrics[name] for event in met])
        marker = "circle" if len(met) <= MOST_MARKED else ""
        points = thinned(epochs, values)
        series.append(Series(metric_name(name), *points, colour=colour, marker=marker))
    log = is_wide(*(item.y for item in series))
    title = f"{words(kind)} of every epoch"
    unit = f"{kind} (%)" if kind == "accuracy" else words(kind)
    return Panel(title, "epoch", unit, tuple(series), y_log=log)


def _metrics_of(history: History, kind: str) -> list[str]:
    names = dict.fromkeys(name for event in history.epochs for name in event.metrics)
    return [name for name in names if kind_of(name) == kind]


def kind_of(metric: str) -> str:
    """What a metric measures, whichever part of the data it was measured on.

    >>> kind_of("final_train_loss"), kind_of("test_my_error")
    ('loss', 'my_error')
    """
    found = (metric.removeprefix(f"{split}_") for split in SPLITS if metric.startswith(f"{split}_"))
    return next(found, metric)
