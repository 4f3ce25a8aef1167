"""One panel as a plot by Bokeh. Everything has the colours of a light page (see `interactive.py`).

A glyph's tags tell `page.js` what it may say of a place: "curve" and its colour, "cell" (with a
column `said`), or "values" for texts that are left out where cells are narrow.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np

from lockstep.report.bokeh_heat import draw_heat
from lockstep.report.bokeh_parts import FONT, set_ticks, write_texts
from lockstep.report.charts import COUNTS, GRID, INK, MUTED, PAPER, Bar, Guide, Panel, Series
from lockstep.report.quantities import number

ON_BAR = "#ffffff"
HEIGHT, WIDE_HEIGHT, ROW_HEIGHT = 270, 310, 26  # pixels
DASHES = {"solid": [], "dashed": [7, 4], "dotted": [2, 3], "dashdot": [8, 3, 2, 3]}


def bokeh_plot(panel: Panel, colours: dict[str, str], thin: int) -> Any:
    """The plot of a panel; `colours` are those of labels, `thin` the most points of a series."""
    from bokeh.models import DataRange1d, PlainText
    from bokeh.plotting import figure

    plot = figure(
        height=_height(panel),
        sizing_mode="stretch_width",
        x_axis_type="log" if panel.x_log else "linear",
        y_axis_type="log" if panel.y_log else "linear",
        # a curve that is hidden leaves its room to the others
        x_range=DataRange1d(only_visible=True, range_padding=0.02),
        y_range=DataRange1d(only_visible=True, range_padding=0.06),
        tools="pan,box_zoom,wheel_zoom,reset,save",
        active_drag="box_zoom",
        toolbar_location="above",
        output_backend="canvas",
    )
    plot.xaxis.axis_label, plot.yaxis.axis_label = PlainText(text=panel.x), PlainText(text=panel.y)
    _style(plot)
    if panel.heat is not None:
        draw_heat(plot, panel.heat, panel)
        return plot
    for series in panel.series:
        _draw_series(plot, series, series.colour or colours[series.label], panel, thin)
    _draw_bars(plot, panel)
    _set_ranges(plot, panel)
    for guide in panel.guides:
        _draw_guide(plot, guide)
    return plot


def _height(panel: Panel) -> int:
    rows = len(panel.heat.y) if panel.heat is not None else len(panel.rows)
    fixed = WIDE_HEIGHT if panel.wide else HEIGHT
    if panel.heat is not None:
        return max(fixed, 110 + ROW_HEIGHT * rows)
    return max(150, 100 + ROW_HEIGHT * rows) if rows else fixed


def _style(plot: Any) -> None:
    plot.background_fill_color = plot.border_fill_color = PAPER
    plot.outline_line_color = None
    plot.toolbar.logo = None
    plot.toolbar.autohide, plot.toolbar.group = True, False
    plot.min_border_right = 14
    # its first pixels on two sides keep a shade of the colours it was painted with before
    plot.stylesheets = [".bk-Canvas { clip-path: inset(2px 0 0 2px); }"]
    for grid in plot.grid:
        grid.grid_line_color = GRID
    for axis in plot.axis:
        axis.axis_line_color = GRID
        axis.major_tick_line_color = axis.minor_tick_line_color = None
        axis.major_label_text_color = axis.axis_label_text_color = MUTED
        axis.major_label_text_font = axis.axis_label_text_font = FONT
        axis.major_label_text_font_size = "12px"
        axis.axis_label_text_font_size = "12.5px"
        axis.axis_label_text_font_style = "normal"


def _draw_series(plot: Any, series: Series, colour: str, panel: Panel, thin: int) -> None:
    from bokeh.models import ColumnDataSource

    chosen = _chosen(len(series.x), thin)
    columns = {"y": series.y, "low": series.low, "high": series.high}
    data = {n: _drawable(v, panel.y_log)[chosen] for n, v in columns.items() if v is not None}
    source = ColumnDataSource({"x": _drawable(series.x, panel.x_log)[chosen], **data})
    place = {"x": "x", "y": "y", "source": source, "name": series.label}
    if "low" in data and "high" in data:
        area = {"y1": "low", "y2": "high", "fill_color": colour, "fill_alpha": 0.18 * series.alpha}
        plot.varea(x="x", source=source, name=series.label, level="underlay", **area)
    ink = {"line_color": colour, "line_alpha": series.alpha}
    tags = ["curve", colour]
    if series.line:
        draw = plot.step if series.steps else plot.line
        more: dict[str, Any] = {"mode": "after"} if series.steps else {"line_join": "round"}
        more |= {"line_width": series.width, "line_dash": DASHES[series.dash]}
        draw(**place, **ink, **more, tags=tags)
    if series.marker or not series.line:
        marker = series.marker or "circle"
        fill = None if marker in ("diamond", "cross") else colour
        look = {"marker": marker, "size": 6 if series.marker else 4, "fill_alpha": series.alpha}
        # the points of a line say nothing that it does not
        lines = {other.label for other in panel.series if other.line}
        told = [] if series.label in lines else tags
        plot.scatter(**place, **ink, **look, fill_color=fill, tags=told)


def _chosen(count: int, most: int) -> np.ndarray:
    """The places of at most `most` of `count` points, evenly spread, both ends among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


def _drawable(values: Any, log: bool) -> np.ndarray:
    """Numbers of half the size that an axis can show; the others are gaps."""
    with np.errstate(over="ignore"):
        found = np.asarray(values, np.float32)
    ok = np.isfinite(found) & (found > 0 if log else True)
    return np.where(ok, found, np.float32(np.nan))


def _draw_bars(plot: Any, panel: Panel) -> None:
    bars = sorted(panel.bars, key=lambda bar: (bar.label, bar.colour))
    positive = [bar.end for bar in bars if bar.end > 0]
    least = min(positive, default=1.0) / 10 if panel.x_log else -np.inf  # no 0 on such an axis
    for (label, colour), group in groupby(bars, lambda bar: (bar.label, bar.colour)):
        same = list(group)
        look: dict[str, Any] = {"fill_color": colour, "line_color": PAPER, "name": label}
        plot.quad(
            left="left", right="right", top="top", bottom="bottom", **look,
            tags=["cell", colour],
            source={
                "left": [max(bar.begin, least) for bar in same],
                "right": [bar.end for bar in same],
                "top": [bar.at - bar.height / 2 for bar in same],
                "bottom": [bar.at + bar.height / 2 for bar in same],
                "said": [_said(bar, panel) for bar in same],
            },
        )  # fmt: skip
    lines = [bar for bar in bars if bar.low is not None and bar.high is not None]
    for bar in lines:
        plot.segment([bar.low], [bar.at], [bar.high], [bar.at], line_color=INK, name=bar.label)
    for label, group in groupby((bar for bar in bars if bar.text), lambda bar: bar.label):
        texts = [((bar.begin + bar.end) / 2, bar.at, bar.text) for bar in group]
        write_texts(plot, texts, ON_BAR, label)


def _said(bar: Bar, panel: Panel) -> str:
    near = int(np.clip(round(bar.at), 0, max(0, len(panel.rows) - 1)))
    names = [panel.rows[near] if panel.rows else "", bar.label, bar.text]
    value = f"{number(bar.begin)} to {number(bar.end)}" if bar.begin else number(bar.end)
    if bar.low is not None and bar.high is not None:
        value += f" ({number(bar.low)} to {number(bar.high)})"
    return f"{', '.join(dict.fromkeys(filter(None, names)))}: {value}"


def _set_ranges(plot: Any, panel: Panel) -> None:
    if panel.x in COUNTS and not panel.x_log:
        plot.xaxis.ticker.min_interval = 1
    if panel.x_ticks is not None:
        set_ticks(plot.xaxis, list(panel.x_ticks), list(panel.x_ticks.values()))
        plot.x_range.range_padding = 0.05  # room for marks at both ends
    if panel.rows:
        set_ticks(plot.yaxis, range(len(panel.rows)), panel.rows)
        plot.ygrid.grid_line_color = None
        plot.y_range.start, plot.y_range.end = len(panel.rows) - 0.5, -0.5
        if not panel.x_log:
            plot.x_range.start = 0
    if panel.y_zero:
        plot.y_range.start = 0
    if panel.y_range is not None:
        plot.y_range.start, plot.y_range.end = panel.y_range


def _draw_guide(plot: Any, guide: Guide) -> None:
    from bokeh.models import Label, PlainText, Span

    dimension = "width" if guide.axis == "y" else "height"
    line = {"line_color": guide.colour, "line_width": 1.2, "line_dash": [4, 3]}
    plot.add_layout(Span(location=guide.value, dimension=dimension, **line))
    if not guide.label:
        return
    place: dict[str, Any] = {"x": 8, "y": guide.value, "x_units": "screen", "y_offset": 3}
    if guide.axis == "x":
        place = {"x": guide.value, "y": 6, "y_units": "screen", "x_offset": 4}
    look: dict[str, Any] = {"text_color": MUTED, "text_font": FONT, "text_font_size": "12px"}
    look |= {"background_fill_color": PAPER, "background_fill_alpha": 0.75}
    plot.add_layout(Label(text=PlainText(text=guide.label), **place, **look))
