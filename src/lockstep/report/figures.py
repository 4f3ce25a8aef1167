"""Charts drawn by matplotlib: one look, and how a figure becomes a file or a part of a page.

Figures are explicit; pyplot is never touched.
"""

from __future__ import annotations

import html
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lockstep.errors import InputError, MissingError
from lockstep.files import write_whole
from lockstep.report.charts import (
    FRAMEWORKS,
    GRID,
    INK,
    MUTED,
    PAPER,
    SERIES,
    Chart,
    Guide,
    Heat,
    Panel,
    Series,
    css_colour,
    is_wide,
    panel_rows,
    series_colours,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FONT = 10
FORMATS = (".png", ".svg")
PANEL_WIDTH = 5.2  # inches
PANEL_HEIGHT = 3.5
ROW_HEIGHT = 0.32  # of a row of bars
NOTE_HEIGHT = 0.3  # of the line below a figure
LINES = {"solid": "-", "dashed": (0, (5, 3)), "dotted": (0, (1.5, 2)), "dashdot": (0, (6, 2, 1, 2))}
MARKS = {"": "", "circle": "o", "square": "s", "triangle": "^", "diamond": "D", "cross": "x"}


def new_figure(width: float, height: float, title: str = "") -> Figure:
    """An empty figure, in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingError(
            "matplotlib, which draws figures, is not installed",
            "Install it with: pip install 'lockstep-train[figures]'",
        ) from None
    figure = Figure(figsize=(width, height), layout="constrained", facecolor=PAPER)
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)  # type: ignore[union-attr, call-arg]
    if title:
        figure.suptitle(
            _plain(title), fontsize=FONT + 3, color=INK, weight="bold", x=0.01, ha="left"
        )
    return figure


def draw(chart: Chart) -> Figure:
    """The chart as a figure: panels in `chart.columns` columns, one legend for several panels."""
    rows = list(panel_rows(chart))
    columns = max((len(row) for row in rows), default=1)
    heights = [max(map(_height, row)) for row in rows]
    width = max(8.0, 0.4 + PANEL_WIDTH * min(columns, 2) + 3.8 * max(0, columns - 2))
    figure = new_figure(width, 0.9 + sum(heights or [PANEL_HEIGHT]), chart.title)
    grid = figure.add_gridspec(max(1, len(rows)), columns, height_ratios=heights or [1])
    colours = series_colours(chart.panels)
    for i, row in enumerate(rows):
        for j, panel in enumerate(row):
            last = j == len(row) - 1  # a row that is not full is filled by its last panel
            place = grid[i, j:] if last else grid[i, j]
            draw_panel(figure.add_subplot(place), panel, colours)
    if chart.note:  # below everything, the legend too
        room = NOTE_HEIGHT / figure.get_figheight()
        engine: Any = figure.get_layout_engine()
        engine.set(rect=(0, room, 1, 1 - room))
        looks: dict[str, Any] = {"fontsize": FONT - 2, "color": MUTED, "ha": "left", "va": "center"}
        figure.text(0.01, room / 2, _plain(chart.note), **looks)
    _add_legends(figure, chart)
    return figure


def _height(panel: Panel) -> float:
    if panel.heat is not None:
        return max(PANEL_HEIGHT, 1.2 + ROW_HEIGHT * len(panel.heat.y))
    return 1.2 + ROW_HEIGHT * len(panel.rows) if panel.rows else PANEL_HEIGHT


def draw_panel(axes: Axes, panel: Panel, colours: dict[str, str]) -> None:
    """One panel in its axes; `colours` are those of the labels of series."""
    style(axes, panel.title, panel.x, panel.y)
    if panel.heat is not None:
        _draw_heat(axes, panel.heat)
        return
    for bar in panel.bars:
        span = {"left": bar.begin, "height": bar.height, "color": bar.colour, "edgecolor": PAPER}
        axes.barh(bar.at, bar.end - bar.begin, label=bar.label or None, **span)  # type: ignore[arg-type]
        if bar.low is not None and bar.high is not None:
            axes.plot([bar.low, bar.high], [bar.at, bar.at], color=INK, linewidth=1.4)
        if bar.text:
            middle = (bar.begin + bar.end) / 2
            looks = {"ha": "center", "va": "center", "color": PAPER, "fontsize": FONT - 2}
            axes.text(middle, bar.at, _plain(bar.text), clip_on=True, **looks)  # type: ignore[arg-type]
    for series in panel.series:
        _draw_series(axes, series, series.colour or colours[series.label])
    if panel.x_log:
        axes.set_xscale("log")
    if panel.y_log:
        axes.set_yscale("log")
    _set_ticks(axes, panel)
    if panel.y_range is not None:
        axes.set_ylim(*panel.y_range)
    _name_powers(axes)
    for guide in panel.guides:
        _draw_guide(axes, guide)
    if panel.y_zero:
        top = axes.get_ylim()[1]
        axes.set_ylim(0, top * 1.03)  # with room for what lies at the top


def _draw_series(axes: Axes, series: Series, colour: str) -> None:
    x, y = np.asarray(series.x, np.float64), np.asarray(series.y, np.float64)
    axes.plot(
        x,
        y,
        color=colour,
        linestyle=LINES[series.dash] if series.line else "",
        linewidth=series.width,
        alpha=series.alpha,
        marker=MARKS[series.marker],
        markersize=4 if series.line else 5,
        markerfacecolor="none" if series.marker == "diamond" else colour,
        drawstyle="steps-post" if series.steps else "default",
        solid_capstyle="round",
        label=_plain(series.label) or "_",  # matplotlib leaves out what begins with _
    )
    if series.low is not None and series.high is not None:
        low, high = (np.asarray(bound, np.float64) for bound in (series.low, series.high))
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)


def _set_ticks(axes: Axes, panel: Panel) -> None:
    if panel.x_ticks is not None:
        axes.set_xticks(list(panel.x_ticks), list(panel.x_ticks.values()))
        axes.minorticks_off()
        axes.margins(x=0.03)  # room for marks at both ends
    if panel.rows:
        axes.grid(False, axis="y")
        axes.set_yticks(range(len(panel.rows)), [_plain(name) for name in panel.rows])
        axes.set_ylim(len(panel.rows) - 0.5, -0.5)
        if not panel.x_log:
            axes.set_xlim(left=0)


def _name_powers(axes: Axes) -> None:
    """Marks of logarithmic axes: few of them, as numbers that are read at once."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

    for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        if axis.get_scale() != "log" or isinstance(axis.get_major_locator(), FixedLocator):
            continue
        if 0 < low < high < 100 * low:  # otherwise powers of ten are enough
            axis.set_major_locator(LogLocator(10, subs=(1, 2, 5)))
        axis.set_minor_formatter(NullFormatter())
        if low >= 1e-4 and high <= 1e6:
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))


def _draw_guide(axes: Axes, guide: Guide) -> None:
    across = axes.axhline if guide.axis == "y" else axes.axvline
    across(guide.value, color=guide.colour, linewidth=1.2, linestyle=(0, (4, 3)))
    if guide.label:
        looks: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "xytext": (0, 4)}
        looks |= {"textcoords": "offset points", "fontsize": FONT - 1, "color": MUTED}
        if guide.axis == "y":
            axes.annotate(_plain(guide.label), (1, guide.value), ha="right", **looks)
        else:
            looks |= {"xycoords": ("data", "axes fraction"), "xytext": (4, -2)}
            axes.annotate(_plain(guide.label), (guide.value, 1), va="top", **looks)


def _draw_heat(axes: Axes, heat: Heat) -> None:
    values = np.ma.masked_invalid(np.asarray(heat.values, np.float64))
    colours = "viridis_r" if heat.smaller else "viridis"
    scale = "log" if is_wide(values.compressed()) else "linear"
    image = axes.imshow(values, aspect="auto", cmap=colours, norm=scale, interpolation="nearest")
    axes.grid(False)
    axes.set_xticks(range(len(heat.x)), list(heat.x), rotation=45 if len(heat.x) > 8 else 0)
    axes.set_yticks(range(len(heat.y)), list(heat.y))
    bar = axes.figure.colorbar(image, ax=axes, pad=0.02)
    bar.set_label(heat.unit, color=MUTED, fontsize=FONT)
    bar.ax.tick_params(colors=MUTED, labelsize=FONT - 1)
    if heat.best is not None:
        row, column = heat.best
        axes.plot([column], [row], "o", ms=9, mfc="none", mec="#d55e00", mew=2)


def _add_legends(figure: Figure, chart: Chart) -> None:
    """One legend below several panels, or below bars, and above the note; inside the only panel
    otherwise."""
    found = [axes.get_legend_handles_labels() for axes in figure.axes]
    named = {name: line for lines, names in found for line, name in zip(lines, names, strict=True)}
    if not named:
        return
    if len(figure.axes) == 1 and not chart.panels[0].rows:
        legend(figure.axes[0])
        return
    columns = max(1, min(len(named), int(110 / (6 + max(map(len, named))))))
    looks = {"frameon": False, "fontsize": FONT - 1, "labelcolor": INK, "ncols": columns}
    if chart.note:
        looks["borderaxespad"] = 72 * NOTE_HEIGHT / (FONT - 1)  # from the figure's lower edge
    figure.legend(list(named.values()), list(named), loc="outside lower center", **looks)


def style(axes: Axes, title: str, x: str, y: str) -> None:
    """Labels with units, a light grid, no box."""
    axes.set_facecolor(PAPER)
    axes.set_title(_plain(title), fontsize=FONT + 1, color=INK, loc="left", pad=8)
    axes.set_xlabel(_plain(x), fontsize=FONT, color=MUTED)
    axes.set_ylabel(_plain(y), fontsize=FONT, color=MUTED)
    axes.tick_params(which="both", colors=MUTED, labelsize=FONT - 1, length=0)
    axes.grid(True, color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("bottom", "left"))
        spine.set_color(GRID)
    axes.margins(x=0.01)


def legend(axes: Axes, **options: Any) -> None:
    """Names of the curves, without a frame, where they hide least."""
    options = {"loc": "best", "frameon": False, "fontsize": FONT - 1, "labelcolor": INK} | options
    axes.legend(**options)


def _plain(text: str) -> str:
    """Text that matplotlib shows as it stands: dollar signs would start a formula."""
    return text.replace("$", r"\$")


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
    for colour in {INK, MUTED, GRID, PAPER, *FRAMEWORKS.values(), *SERIES}:
        svg = svg.replace(colour, css_colour(colour))
    head = f'<svg role="img" aria-label="{html.escape(label)}"'
    svg = re.sub(r'<svg(.*?) width="[^"]*"', rf"{head}\1", svg, count=1, flags=re.DOTALL)
    return re.sub(r' height="[\d.]+pt"', "", svg, count=1).strip()


def _rendered(figure: Figure, kind: str) -> bytes:
    import matplotlib

    # text as text and the same ids every time; only while this figure is written
    settings: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "lockstep"}
    with matplotlib.rc_context(settings), io.BytesIO() as content:
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(content, format=kind, dpi=160, metadata=metadata)
        return content.getvalue()
