"""A panel of a chart as text, for a terminal or a file: drawn by plotext.

Curves are told apart by letters, so that the plot is readable without colour too. Bars are lines of
text, a heat map is a grid of its values.
"""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Iterator
from itertools import cycle
from string import ascii_uppercase
from typing import Any, TextIO

import numpy as np

from lockstep.errors import MissingError
from lockstep.report.charts import Heat, Panel, Series, thinned
from lockstep.showing import has_colour

WIDTH, HEIGHT = 100, 18
NUM_TICKS = 6


def print_plot(panel: Panel, file: TextIO | None = None) -> None:
    """The panel as text on stdout, or a line that says why there is none."""
    file = file or sys.stdout
    colour = file.isatty() and has_colour()
    try:
        text = plot_text(panel, shutil.get_terminal_size((80, 24)).columns, colour=colour)
    except MissingError as error:
        text = f"no plot: {error}"
    try:
        text.encode(file.encoding or "utf-8")
    except UnicodeEncodeError:
        text = f"no plot: the output's encoding ({file.encoding}) lacks its characters"
    print("\n" + text, file=file)


def plot_text(panel: Panel, width: int = 80, *, colour: bool = False) -> str:
    """Title, curves or bars, and which letter is which curve.

    >>> from lockstep.report.charts import Bar
    >>> bars = (Bar(0, 20.0, text="a"), Bar(1, 10.0))
    >>> print(plot_text(Panel("time", "ms", "", bars=bars, rows=("one", "two")), 40))
    time (ms)
    one ######################### 20
    two ############ 10
    """
    if panel.heat is not None:
        return "\n".join(_heat_lines(panel, panel.heat))
    if panel.rows:
        return "\n".join([f"{panel.title} ({panel.x})", *_bar_lines(panel, width)])
    drawn = [series for series in panel.series if series.label and len(series.x)]
    named = dict.fromkeys(series.label for series in drawn)
    letters = dict(zip(named, cycle(ascii_uppercase), strict=False))
    text = _plotted(panel, drawn, letters if len(letters) > 1 else {}, width, colour)
    key = [f"{letter} = {label}" for label, letter in letters.items() if letter != label]
    return "\n".join([*filter(None, [panel.title]), text, *(key if len(letters) > 1 else ())])


def _heat_lines(panel: Panel, heat: Heat) -> Iterator[str]:
    """The values in a grid; the best is marked.

    >>> heat = Heat(["0.1", "1"], ["10"], np.array([[0.5, np.nan]]), "loss", best=(0, 0))
    >>> for line in _heat_lines(Panel("", "lr", "batch size", heat=heat), heat):
    ...     print(line)
    loss, by batch size (down) and lr (across); * the best
            0.1  1
    10  0.5000*  -
    """
    yield f"{heat.unit}, by {panel.y} (down) and {panel.x} (across); * the best"
    label = max(map(len, heat.y))
    texts = [
        [
            ("-" if not math.isfinite(value) else f"{value:#.4g}") + "*" * (heat.best == (i, j))
            for j, value in enumerate(row)
        ]
        for i, row in enumerate(np.asarray(heat.values, np.float64).tolist())
    ]
    widths = [max(map(len, column)) for column in zip(heat.x, *texts, strict=True)]
    for name, cells in (("", heat.x), *zip(heat.y, texts, strict=True)):
        aligned = (f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        yield f"{name:<{label}}  {'  '.join(aligned)}"


def _bar_lines(panel: Panel, width: int) -> Iterator[str]:
    """A line for each row: its name, and its bar in proportion to the longest."""
    label = max(map(len, panel.rows))
    room = max(8, min(WIDTH, width) - label - 12)
    ends = {round(bar.at): bar.end for bar in panel.bars}
    longest = max((end for end in ends.values() if math.isfinite(end)), default=1.0) or 1.0
    for place, name in enumerate(panel.rows):
        end = ends.get(place, math.nan)
        length = round(room * end / longest) if math.isfinite(end) else 0
        yield f"{name:<{label}} {'#' * length} {end:.4g}".rstrip()


def _plotted(
    panel: Panel, drawn: list[Series], letters: dict[str, str], width: int, colour: bool
) -> str:
    try:
        import plotext
    except ImportError:
        remedy = "Install it with: pip install 'lockstep-train[figures]'"
        raise MissingError("plotext is not installed", remedy) from None
    figure = plotext.figure
    figure.clear()
    figure.theme("simple")  # no painted background
    figure.plot_size(min(WIDTH, width), HEIGHT)
    seen: tuple[list[float], list[float]] = ([], [])
    for series in drawn:
        x, y = thinned(np.asarray(series.x, np.float64), np.asarray(series.y, np.float64))
        if panel.y_range is not None:
            y = np.where((y >= panel.y_range[0]) & (y <= panel.y_range[1]), y, np.nan)
        x, y = _scaled(x, panel.x_log), _scaled(y, panel.y_log)
        kept = np.isfinite(x) & np.isfinite(y)
        if kept.any():
            xs, ys = x[kept].tolist(), y[kept].tolist()
            seen[0].extend(xs)
            seen[1].extend(ys)
            if series.steps:
                xs, ys = np.repeat(xs, 2)[1:].tolist(), np.repeat(ys, 2)[:-1].tolist()
            signal = figure.signal(xs, ys, marker=letters.get(series.label))
            figure.draw(signal.lines() if series.line else signal)
    if not seen[0]:
        return "(nothing to draw)"
    names = panel.x_ticks or {}
    ticks = {float(_scaled(np.array([at]), panel.x_log)[0]): name for at, name in names.items()}
    _set_ticks(figure.ruler("x"), seen[0], panel.x_log, ticks)
    _set_ticks(figure.ruler("y"), [*seen[1], *([0.0] if panel.y_zero else [])], panel.y_log, {})
    figure.label(panel.x, axis="x")
    figure.label(panel.y, axis="y")
    text: str = figure.build().string(colorless=not colour)
    return "\n".join(line.rstrip() for line in text.splitlines())


def _scaled(values: np.ndarray, log: bool) -> np.ndarray:
    if not log:
        return values
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log10(values)


def _set_ticks(ruler: Any, values: list[float], log: bool, names: dict[float, str]) -> None:
    low, high = min(values), max(values)
    if low == high:
        low, high = low - 0.5, high + 0.5
    ruler.lim(low, high)
    places = list(names) or np.linspace(low, high, NUM_TICKS).tolist()
    if not log and not names and high - low >= NUM_TICKS and float(high).is_integer():
        places = sorted({float(round(at)) for at in places})
    ruler.ticks(places, [names.get(at) or tick_text(10**at if log else at) for at in places])


def tick_text(value: float) -> str:
    """
    >>> [tick_text(v) for v in (0.12345, 1199.8, 1e-7, 3e9)]
    ['0.123', '1,200', '1e-07', '3e+09']
    """
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"
