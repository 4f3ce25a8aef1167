"""Figures of a run, and how any figure becomes a file or a part of a page."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lockstep.errors import InputError
from lockstep.files import write_whole
from lockstep.report.numbers import metric_name
from lockstep.report.style import (
    FRAMEWORKS,
    GRID,
    INK,
    MUTED,
    PAPER,
    SERIES,
    colour,
    legend,
    new_figure,
    style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lockstep.training.history import History

FORMATS = (".png", ".svg")
MAX_POINTS = 2000  # of a curve: more than a page can show
LARGEST = 1e30
DASHES = ("-", "--", ":")
EPOCH_PANELS = {"loss": "loss", "perplexity": "perplexity", "accuracy": "accuracy (%)"}


def run_figure(history: History, title: str = "", framework: str = "") -> Figure:
    """Loss of every step; metrics of every epoch, each kind on its own axes; learning rate."""
    panels = [kind for kind in EPOCH_PANELS if _metrics_of(history, kind)]
    rows = 1 + (len(panels) + 2) // 2
    figure = new_figure(8, 3.1 + 2.3 * (rows - 1), title)
    grid = figure.add_gridspec(rows, 2, height_ratios=[1.35] + [1.0] * (rows - 1))
    draw_loss(figure.add_subplot(grid[0, :]), history[:, "loss"], framework)
    for index, kind in enumerate([*panels, "lr"]):
        last = index == len(panels) and index % 2 == 0  # alone in its row: let it fill it
        place = grid[1 + index // 2, :] if last else grid[1 + index // 2, index % 2]
        axes = figure.add_subplot(place)
        if kind == "lr":
            draw_lr(axes, history[:, "lr"])
        else:
            _draw_metrics(axes, history, kind)
    return figure


def draw_loss(axes: Axes, loss: np.ndarray, framework: str = "") -> None:
    """The loss of every step; where it is noisy, faint, under its running mean."""
    main = colour(framework) if framework else SERIES[0]
    style(axes, "loss of every step", "step", "loss")
    steps = np.arange(len(loss))
    window, places = smoothing_window(loss), chosen(len(loss))
    means = running_mean(loss, window, places)  # of all steps it would take minutes where many are
    if window > 1:
        axes.plot(*thinned(steps, loss), color=main, alpha=0.3, linewidth=0.9, label="each step")
        label = f"mean of {window} steps"
        axes.plot(*thinned(steps[places], means), color=main, linewidth=2, label=label)
        legend(axes)
    else:
        axes.plot(*thinned(steps, loss), color=main, linewidth=1.8, label="each step")
    log_if_wide(axes, means)


def draw_lr(axes: Axes, lrs: np.ndarray) -> None:
    """The learning rate that every step used."""
    style(axes, "learning rate of every step", "step", "learning rate")
    axes.plot(
        *thinned(np.arange(len(lrs)), lrs), color=MUTED, linewidth=1.8, drawstyle="steps-post"
    )
    axes.set_ylim(0, 1.15 * min(max(lrs.max(initial=0.0), 1e-12), LARGEST))


def _draw_metrics(axes: Axes, history: History, kind: str) -> None:
    style(axes, f"{kind} of every epoch", "epoch", EPOCH_PANELS[kind])
    scale = 100 if kind == "accuracy" else 1
    everything = np.array([])
    for name, place in zip(_metrics_of(history, kind), SERIES, strict=False):
        points = [
            (e.epoch + 1, scale * e.metrics[name]) for e in history.epochs if name in e.metrics
        ]
        xs, ys = thinned(*np.array(points).T)
        marker = "o" if len(points) <= 30 else None
        axes.plot(
            xs, ys, color=place, marker=marker, markersize=4, linewidth=1.8, label=metric_name(name)
        )
        everything = np.append(everything, ys)
    axes.locator_params(axis="x", integer=True)
    log_if_wide(axes, everything)
    legend(axes)


def _metrics_of(history: History, kind: str) -> list[str]:
    names = dict.fromkeys(name for event in history.epochs for name in event.metrics)
    return [name for name in names if name.endswith(kind)]


def against_figure(runs: Mapping[str, History], title: str = "") -> Figure:
    """Several runs over each other: the loss of every step, metrics of every epoch, the rates."""
    panels = [k for k in EPOCH_PANELS if any(_metrics_of(h, k) for h in runs.values())]
    figure = new_figure(8, 3.0 * (2 + len(panels)), title)
    axes = figure.subplots(2 + len(panels), 1)
    style(axes[0], "loss of every step", "step", "loss")
    style(axes[-1], "learning rate of every step", "step", "learning rate")
    for place, (label, history) in enumerate(runs.items()):
        tint, dash = SERIES[place % len(SERIES)], DASHES[place % len(DASHES)]
        loss = history[:, "loss"]
        window = smoothing_window(loss)
        smooth = running_mean(loss, window)
        said = label if window == 1 else f"{label} (mean of {window} steps)"
        steps = np.arange(len(loss))
        axes[0].plot(*thinned(steps, smooth), color=tint, linestyle=dash, label=said)
        rates = thinned(steps, history[:, "lr"])
        axes[-1].plot(*rates, color=tint, linestyle=dash, drawstyle="steps-post", label=label)
        for kind, below in zip(panels, axes[1:-1], strict=True):
            _draw_metrics_of(below, history, kind, label, tint)
    for each in axes:
        legend(each)
    return figure


def _draw_metrics_of(axes: Axes, history: History, kind: str, label: str, tint: str) -> None:
    """One run's metrics of a kind, each with a dash of its own."""
    style(axes, f"{kind} of every epoch", "epoch", EPOCH_PANELS[kind])
    scale = 100 if kind == "accuracy" else 1
    for name, dash in zip(_metrics_of(history, kind), DASHES, strict=False):
        points = [
            (e.epoch + 1, scale * e.metrics[name]) for e in history.epochs if name in e.metrics
        ]
        xs, ys = thinned(*np.array(points).T)
        marker = "o" if len(points) <= 30 else None
        axes.plot(xs, ys, color=tint, linestyle=dash, marker=marker, markersize=4,
                  label=f"{label}: {metric_name(name)}")  # fmt: skip
    axes.locator_params(axis="x", integer=True)


def smoothing_window(values: np.ndarray) -> int:
    """1 for a curve that is smooth; for a noisy one, a twentieth of its length.

    Noisy: the typical jump between neighbours exceeds 4 % of the curve's range.

    >>> smoothing_window(np.linspace(3, 1, 200)), smoothing_window(np.tile([1.0, 2.0], 100))
    (1, 10)
    """
    finite = values[np.isfinite(values)]
    if len(finite) < 20:
        return 1
    low, high = np.percentile(finite, [2, 98])
    jump = float(np.median(np.abs(np.diff(finite))))
    return max(3, len(values) // 20) if jump > 0.04 * max(high - low, 1e-300) else 1


def running_mean(values: np.ndarray, window: int, at: np.ndarray | None = None) -> np.ndarray:
    """The mean of the `window` values around each, of fewer at the ends; of those `at` some places
    only, if they are given.

    >>> running_mean(np.array([1.0, 2.0, 3.0, 4.0]), 3).tolist()
    [1.5, 2.0, 3.0, 3.5]
    """
    at = np.arange(len(values)) if at is None else at
    if window <= 1 or not len(values):
        return values[at]
    before, after = window // 2, (window - 1) // 2
    return np.array([values[max(0, i - before) : i + after + 1].mean() for i in at.tolist()])


def chosen(count: int) -> np.ndarray:
    """The places of at most MAX_POINTS of `count` points, evenly spread, both ends among them."""
    if count <= MAX_POINTS:
        return np.arange(count)
    return np.linspace(0, count - 1, MAX_POINTS).round().astype(int)


def thinned(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """At most MAX_POINTS of a curve, evenly chosen, both ends among them.

    Values beyond LARGEST, which axes cannot hold, are drawn there; those not finite not at all.
    """
    y = np.clip(np.where(np.isfinite(y), y, np.nan), -LARGEST, LARGEST)
    places = chosen(len(x))
    return x[places], y[places]


def log_if_wide(axes: Axes, values: np.ndarray) -> None:
    """A logarithmic scale where positive values span more than a factor of thirty."""
    finite = values[np.isfinite(values)]
    if finite.size and finite.min() > 0 and finite.max() > 30 * finite.min():
        axes.set_yscale("log")


# --- out ------------------------------------------------------------------------------------------


def save_figure(figure: Figure, path: str | Path) -> Path:
    """Write a figure as PNG or SVG, by the suffix of its name; as a whole or not at all."""
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise InputError("figure", str(path), "is neither PNG nor SVG", "Name it .png or .svg.")
    write_whole(path, _rendered(figure, path.suffix.lower()[1:]))
    return path


def figure_svg(figure: Figure, prefix: str, label: str) -> str:
    """A figure as an <svg> element for a page: text stays text, and colours follow the page.

    `prefix` keeps the ids of several figures apart; `label` says what it shows, for those who
    cannot see it.
    """
    svg = _rendered(figure, "svg").decode()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'id="([^"]+)"', rf'id="{prefix}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)
    svg = re.sub(r'xlink:href="#([^"]+)"', rf'href="#{prefix}-\1"', svg)
    for name, value in page_colours().items():
        svg = svg.replace(value, f"var(--{name}, {value})")
    head = f'<svg role="img" aria-label="{html.escape(label)}"'
    svg = re.sub(r'<svg(.*?) width="[^"]*"', rf"{head}\1", svg, count=1, flags=re.DOTALL)
    return re.sub(r' height="[\d.]+pt"', "", svg, count=1).strip()


def page_colours() -> dict[str, str]:
    """The colours that a page may replace, by the name of their CSS variable."""
    named = {"ink": INK, "muted": MUTED, "grid": GRID, "paper": PAPER}
    return named | {f"f-{name}": value for name, value in FRAMEWORKS.items()}


def _rendered(figure: Figure, kind: str) -> bytes:
    import matplotlib

    # text as text and the same ids every time; only while this figure is written
    settings: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "lockstep"}
    with matplotlib.rc_context(settings), io.BytesIO() as content:
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(content, format=kind, dpi=160, metadata=metadata)
        return content.getvalue()
