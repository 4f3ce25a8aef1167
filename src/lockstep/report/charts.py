"""A figure as plain data: panels of curves, bars or a heat map, with their names, axes and units.

An experiment, a run or a comparison describes its figure once. `figures.py` draws it with
matplotlib (PNG, SVG), `interactive.py` with Bokeh (pages), `terminal_plot.py` as text. Nothing here
draws, and nothing here reads a run.

The palette can be told apart by colour-blind readers, and a framework has the same colour in every
figure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# Okabe and Ito's, in an order that also differs in lightness
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d46")
FRAMEWORKS = {
    "oracle": "#3d4852",
    "numpy": "#7f8791",
    "torch": "#d55e00",
    "jax": "#0072b2",
    "tensorflow": "#e69f00",
    "paddle": "#56b4e9",
    "mindspore": "#cc79a7",
    "mxnet": "#009e73",
}
INK = "#1f2933"
MUTED = "#6b7580"
GRID = "#dfe4e8"
PAPER = "#fefefe"
DASHES = ("solid", "dashed", "dotted", "dashdot")
MARKERS = ("circle", "square", "triangle", "diamond", "cross")

COUNTS = ("step", "epoch")  # axes of whole numbers
MAX_POINTS = 2000  # of a curve: more than a page can show
LARGEST = 1e30


@dataclass(frozen=True, eq=False)
class Series:
    """A curve, or points where `line` is False. `low` and `high` bound a band around it.

    Without a `colour` it gets the next one of SERIES; series of one label share theirs. A `label`
    that is "" is not in the legend. `steps` draws a staircase, each value from its x to the next.
    """

    label: str
    x: Sequence[float] | np.ndarray
    y: Sequence[float] | np.ndarray
    colour: str = ""
    dash: str = "solid"
    width: float = 1.8
    alpha: float = 1.0
    line: bool = True
    marker: str = ""  # one of MARKERS; "" for none
    steps: bool = False
    low: Sequence[float] | np.ndarray | None = None
    high: Sequence[float] | np.ndarray | None = None


@dataclass(frozen=True)
class Bar:
    """A horizontal bar from `begin` to `end` in row `at` (a place in the panel's `rows`, also
    between two), with a line from `low` to `high` over it."""

    at: float
    end: float
    begin: float = 0.0
    height: float = 0.62
    colour: str = SERIES[0]
    text: str = ""  # written on it
    label: str = ""  # in the legend
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, eq=False)
class Heat:
    """A field of coloured cells: `values` (len(y), len(x)); those that are not finite are blank.

    `unit` names what the colours mean; `smaller` says whether a smaller value is a better one.
    """

    x: Sequence[str]
    y: Sequence[str]
    values: np.ndarray
    unit: str
    smaller: bool = True
    best: tuple[int, int] | None = None  # the cell that is marked: row, column


@dataclass(frozen=True)
class Guide:
    """A thin line across a panel at a value of one axis, with a word beside it."""

    value: float
    label: str = ""
    axis: str = "y"  # "y": a horizontal line at that y; "x": a vertical one
    colour: str = MUTED


@dataclass(frozen=True, eq=False)
class Panel:
    """One pair of axes. `x` and `y` are their labels, units included.

    `rows` names the rows of bars, from the top; series in such a panel have places of rows as y.
    `x_ticks` are the only marks on the x axis: value -> text.
    """

    title: str
    x: str
    y: str
    series: tuple[Series, ...] = ()
    bars: tuple[Bar, ...] = ()
    rows: tuple[str, ...] = ()
    heat: Heat | None = None
    guides: tuple[Guide, ...] = ()
    x_log: bool = False
    y_log: bool = False
    x_ticks: dict[float, str] | None = None
    y_zero: bool = False  # the y axis begins at 0
    y_range: tuple[float, float] | None = None
    caption: str = ""  # what the panel shows, in a sentence, for those who cannot see it
    wide: bool = False  # it has a row of the chart for itself


@dataclass(frozen=True, eq=False)
class Chart:
    """Panels under one title. `note` says data, framework, machine and seed: every figure does."""

    title: str
    panels: tuple[Panel, ...]
    note: str = ""
    columns: int = 2


def panel_rows(chart: Chart) -> Iterator[list[Panel]]:
    """The panels, row by row; a row that is not full is filled by its last panel."""
    row: list[Panel] = []
    for panel in chart.panels:
        if row and (panel.wide or len(row) == chart.columns):
            yield row
            row = []
        row.append(panel)
        if panel.wide:
            yield row
            row = []
    if row:
        yield row


def framework_colour(framework: str) -> str:
    """The colour of a framework, in every figure; another name has a colour of its own too.

    >>> framework_colour("torch")
    '#d55e00'
    """
    return FRAMEWORKS.get(framework) or SERIES[sum(framework.encode()) % len(SERIES)]


def css_colour(colour: str) -> str:
    """A colour as a page paints it: by the variable of its name, which is another in the dark.

    >>> css_colour("#0072b2")
    'var(--c-0072b2, #0072b2)'
    """
    return f"var(--c-{colour[1:].lower()}, {colour})"


def series_colours(panels: Sequence[Panel]) -> dict[str, str]:
    """A colour for every label: that of its first series, or else the next one of SERIES. Seven
    are told apart; after that they repeat.

    >>> one = Panel("", "", "", (Series("a", [], []), Series("b", [], [], colour="#123456")))
    >>> series_colours([one])
    {'a': '#0072b2', 'b': '#123456'}
    """
    found: dict[str, str] = {}
    for item in (item for panel in panels for item in panel.series):
        if item.label not in found:
            found[item.label] = item.colour or SERIES[len(found) % len(SERIES)]
    return found


# --- curves ---------------------------------------------------------------------------------------


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


def smoothed(values: np.ndarray, window: int) -> tuple[np.ndarray, np.ndarray]:
    """The places that are drawn of a curve, and there the mean of the `window` values around each,
    of fewer at the ends. At every place it would take minutes where many are.

    >>> smoothed(np.array([1.0, 2.0, 3.0, 4.0]), 3)[1].tolist()
    [1.5, 2.0, 3.0, 3.5]
    """
    places = _chosen(len(values))
    if window <= 1 or not len(values):
        return places, values[places]
    before, after = window // 2, (window - 1) // 2
    means = [values[max(0, i - before) : i + after + 1].mean() for i in places.tolist()]
    return places, np.array(means)


def _chosen(count: int) -> np.ndarray:
    """The places of at most MAX_POINTS of `count` points, evenly spread, both ends among them."""
    if count <= MAX_POINTS:
        return np.arange(count)
    return np.linspace(0, count - 1, MAX_POINTS).round().astype(int)


def thinned(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """At most MAX_POINTS of a curve, evenly chosen, both ends among them.

    Values beyond LARGEST, which axes cannot hold, are drawn there; those not finite not at all.
    """
    y = np.clip(np.where(np.isfinite(y), y, np.nan), -LARGEST, LARGEST)
    places = _chosen(len(x))
    return x[places], y[places]


def is_wide(*curves: Any) -> bool:
    """Whether positive values span more than a factor of thirty: a logarithmic axis shows more.

    >>> is_wide([1.0, 900.0]), is_wide([1.0, 2.0], [float("nan")])
    (True, False)
    """
    values = np.concatenate([np.zeros(0), *(np.asarray(curve, np.float64) for curve in curves)])
    finite = values[np.isfinite(values)]
    return bool(finite.size and finite.min() > 0 and finite.max() > 30 * finite.min())
