"""Figures of a run: loss, metrics and learning rate, of one run or of several over each other."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from lockstep.report import figures
from lockstep.report.charts import (
    LARGEST,
    MUTED,
    SERIES,
    framework_colour,
    smoothed,
    smoothing_window,
    thinned,
)
from lockstep.report.quantities import metric_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lockstep.training.history import History

DASHES = ("-", "--", ":")
EPOCH_PANELS = {"loss": "loss", "perplexity": "perplexity", "accuracy": "accuracy (%)"}


def run_figure(history: History, title: str = "", framework: str = "") -> Figure:
    """Loss of every step; metrics of every epoch, each kind on its own axes; learning rate."""
    panels = [kind for kind in EPOCH_PANELS if _metrics_of(history, kind)]
    rows = 1 + (len(panels) + 2) // 2
    figure = figures.new_figure(8, 3.1 + 2.3 * (rows - 1), title)
    grid = figure.add_gridspec(rows, 2, height_ratios=[1.35] + [1.0] * (rows - 1))
    draw_loss(figure.add_subplot(grid[0, :]), history[:, "loss"], framework)
    for index, kind in enumerate([*panels, "lr"]):
        last = index == len(panels) and index % 2 == 0  # alone in its row: let it fill it
        place = grid[1 + index // 2, :] if last else grid[1 + index // 2, index % 2]
        axes = figure.add_subplot(place)
        if kind == "lr":
            draw_lr(axes, history[:, "lr"])
        else:
            figures.log_if_wide(axes, _draw_metrics(axes, history, kind))
            figures.legend(axes)
    return figure


def draw_loss(axes: Axes, loss: np.ndarray, framework: str = "") -> None:
    """The loss of every step; where it is noisy, faint, under its running mean."""
    main = framework_colour(framework) if framework else SERIES[0]
    figures.style(axes, "loss of every step", "step", "loss")
    steps, window = np.arange(len(loss)), smoothing_window(loss)
    places, means = smoothed(loss, window)
    if window > 1:
        axes.plot(*thinned(steps, loss), color=main, alpha=0.3, linewidth=0.9, label="each step")
        label = f"mean of {window} steps"
        axes.plot(*thinned(places, means), color=main, linewidth=2, label=label)
        figures.legend(axes)
    else:
        axes.plot(*thinned(steps, loss), color=main, linewidth=1.8, label="each step")
    figures.log_if_wide(axes, means)


def draw_lr(axes: Axes, lrs: np.ndarray) -> None:
    """The learning rate that every step used."""
    figures.style(axes, "learning rate of every step", "step", "learning rate")
    axes.plot(
        *thinned(np.arange(len(lrs)), lrs), color=MUTED, linewidth=1.8, drawstyle="steps-post"
    )
    axes.set_ylim(0, 1.15 * min(max(lrs.max(initial=0.0), 1e-12), LARGEST))


def _draw_metrics(
    axes: Axes, history: History, kind: str, label: str = "", tint: str = ""
) -> np.ndarray:
    """A run's metrics of one kind, and all their values. Each has a colour of its own or, with a
    run's label and tint, a dash of its own."""
    figures.style(axes, f"{kind} of every epoch", "epoch", EPOCH_PANELS[kind])
    scale = 100 if kind == "accuracy" else 1
    everything = np.array([])
    for name, hue, dash in zip(_metrics_of(history, kind), SERIES, cycle(DASHES), strict=False):
        points = [
            (e.epoch + 1, scale * e.metrics[name]) for e in history.epochs if name in e.metrics
        ]
        xs, ys = thinned(*np.array(points).T)
        look = {"color": tint, "linestyle": dash} if tint else {"color": hue, "linewidth": 1.8}
        marker = "o" if len(points) <= 30 else None
        named = f"{label}: {metric_name(name)}" if label else metric_name(name)
        axes.plot(xs, ys, marker=marker, markersize=4, label=named, **look)
        everything = np.append(everything, ys)
    axes.locator_params(axis="x", integer=True)
    return everything


def _metrics_of(history: History, kind: str) -> list[str]:
    names = dict.fromkeys(name for event in history.epochs for name in event.metrics)
    return [name for name in names if name.endswith(kind)]


def against_figure(runs: Mapping[str, History], title: str = "") -> Figure:
    """Several runs over each other: the loss of every step, metrics of every epoch, the rates."""
    panels = [k for k in EPOCH_PANELS if any(_metrics_of(h, k) for h in runs.values())]
    figure = figures.new_figure(8, 3.0 * (2 + len(panels)), title)
    axes = figure.subplots(2 + len(panels), 1)
    figures.style(axes[0], "loss of every step", "step", "loss")
    figures.style(axes[-1], "learning rate of every step", "step", "learning rate")
    for place, (label, history) in enumerate(runs.items()):
        tint, dash = SERIES[place % len(SERIES)], DASHES[place % len(DASHES)]
        loss = history[:, "loss"]
        window = smoothing_window(loss)
        said = label if window == 1 else f"{label} (mean of {window} steps)"
        means = thinned(*smoothed(loss, window))
        axes[0].plot(*means, color=tint, linestyle=dash, label=said)
        rates = thinned(np.arange(len(loss)), history[:, "lr"])
        axes[-1].plot(*rates, color=tint, linestyle=dash, drawstyle="steps-post", label=label)
        for kind, below in zip(panels, axes[1:-1], strict=True):
            _draw_metrics(below, history, kind, label, tint)
    for each in axes:
        figures.legend(each)
    return figure
