"""Charts drawn by Bokeh, for pages: values under the pointer, curves hidden by a click on a name,
zoom. A page holds Bokeh's script and all data itself and asks no host for anything.

Plots get the colours of a light page; `page.js` replaces each by the page's CSS variable `--c-` and
its six digits where there is one, as in the dark. It also draws the plots, and what it says of a
point is text, never HTML.
"""

from __future__ import annotations

import html
import json
import textwrap
from collections.abc import Sequence
from importlib import resources
from importlib.util import find_spec
from itertools import groupby
from typing import Any

import numpy as np

from lockstep.report.charts import (
    GRID,
    INK,
    MUTED,
    PAPER,
    Bar,
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
from lockstep.report.quantities import number

ON_BAR = "#ffffff"
BEST = "#d55e00"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"
HEIGHT, WIDE_HEIGHT, ROW_HEIGHT = 270, 310, 26  # pixels
MOST_POINTS = 60_000  # of a chart, for the page's size
MOST_TEXTS = 64  # cells of a heat map whose values are written into them
COUNTS = ("step", "epoch")  # axes of whole numbers
DASHES = {"solid": [], "dashed": [7, 4], "dotted": [2, 3], "dashdot": [8, 3, 2, 3]}


def is_installed() -> bool:
    """Whether Bokeh can be imported."""
    return find_spec("bokeh") is not None


def scripts() -> str:
    """What a page with interactive charts needs, once: Bokeh's script, and ours."""
    from bokeh.resources import Resources

    bokeh = Resources(mode="inline", components=["bokeh"], log_level="warn").js_raw
    ours = resources.files("lockstep.report").joinpath("page.js").read_text()
    return "".join(f"<script>\n{text}\n</script>\n" for text in [*bokeh, ours])


def figure_html(chart: Chart, name: str) -> str:
    """The panels of a chart as HTML, in its columns; `name` begins the ids of its elements.

    A name in a legend is a button that hides or shows its curves in every panel. Panels with the
    same names share one legend.
    """
    colours = series_colours(chart.panels)
    legends = [_legend(panel, colours) for panel in chart.panels]
    named = {legend for legend in legends if legend}
    shared = len(named) == 1 and sum(map(bool, legends)) > 1
    thin = max(50, MOST_POINTS // max(1, sum(len(panel.series) for panel in chart.panels)))
    lasts = {id(row[-1]): len(row) for row in panel_rows(chart)}
    parts = []
    for index, (panel, legend) in enumerate(zip(chart.panels, legends, strict=True)):
        drawn = _panel_html(panel, f"{name}-{index}", "" if shared else legend, colours, thin)
        place = f' style="grid-column: {lasts[id(panel)]} / -1"' if id(panel) in lasts else ""
        parts.append(f'<div class="panel"{place}>\n{drawn}</div>\n')
    title = f"<h3>{html.escape(chart.title)}</h3>\n" if chart.title else ""
    head = title + (named.pop() + "\n" if shared else "")
    columns = min(chart.columns, len(chart.panels))
    return (
        f'<div class="chart">\n{head}'
        f'<div class="panels" style="--columns: {columns}">\n{"".join(parts)}</div>\n</div>'
    )


def _panel_html(panel: Panel, name: str, legend: str, colours: dict[str, str], thin: int) -> str:
    from bokeh.embed import json_item

    plot = _plot(panel, colours, thin)
    # inside a script element only < could end it
    data = json.dumps(json_item(plot, name)).replace("<", "\\u003c")
    title = f"<h4>{html.escape(panel.title)}</h4>\n" if panel.title else ""
    said = html.escape(panel.caption or f"{panel.title}: {panel.y} against {panel.x}")
    # as high as its plot will be, so that nothing moves when it is drawn
    return (
        f"{title}{legend}\n"
        f'<div class="plot" id="{name}" role="img" aria-label="{said}" '
        f'style="min-height: {plot.height}px"></div>\n'
        f'<script type="application/json" data-plot="{name}">{data}</script>\n'
    )


def _legend(panel: Panel, colours: dict[str, str]) -> str:
    """A button for every name in a panel; none where a single one would say nothing new."""
    looks = {s.label: (colours[s.label], _swatch(s)) for s in panel.series if s.label}
    looks |= {bar.label: (bar.colour, "square") for bar in panel.bars if bar.label}
    buttons = "".join(
        f'<button type="button" aria-pressed="true" data-label="{html.escape(label)}">'
        f'<i class="{kind}" style="--colour: {css_colour(colour)}"></i>{html.escape(label)}'
        "</button>\n"
        for label, (colour, kind) in looks.items()
    )
    return f'<div class="legend">\n{buttons}</div>' if buttons else ""


def _swatch(series: Series) -> str:
    return series.dash if series.line else "dot"


# --- a plot ---------------------------------------------------------------------------------------


def _plot(panel: Panel, colours: dict[str, str], thin: int) -> Any:
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
        _draw_heat(plot, panel.heat, panel)
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
        _write(plot, texts, ON_BAR, label)


def _write(
    plot: Any, texts: Sequence[tuple[float, float, str]], colour: str, name: str = "", *tags: str
) -> None:
    """Texts in the middle of their places (x, y, text)."""
    from bokeh.core.properties import value

    look: dict[str, Any] = {"text_font": value(FONT), "text_font_size": "11px"}
    look |= {"text_align": "center", "text_baseline": "middle", "text_color": colour}
    x, y, text = zip(*texts, strict=True)
    plot.text(x=list(x), y=list(y), text=list(text), name=name, tags=list(tags), **look)


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
        _set_ticks(plot.xaxis, list(panel.x_ticks), list(panel.x_ticks.values()))
        plot.x_range.range_padding = 0.05  # room for marks at both ends
    if panel.rows:
        _set_ticks(plot.yaxis, range(len(panel.rows)), panel.rows)
        plot.ygrid.grid_line_color = None
        plot.y_range.start, plot.y_range.end = len(panel.rows) - 0.5, -0.5
        if not panel.x_log:
            plot.x_range.start = 0
    if panel.y_zero:
        plot.y_range.start = 0
    if panel.y_range is not None:
        plot.y_range.start, plot.y_range.end = panel.y_range


def _set_ticks(axis: Any, places: Sequence[float], names: Sequence[str]) -> None:
    """The only marks of an axis, with names; long ones in several lines."""
    from bokeh.models import FixedTicker, PlainText

    axis.ticker = FixedTicker(ticks=list(places), minor_ticks=[])
    # plain text: Bokeh would take dollar signs for a formula, and ask a host how to set it
    axis.major_label_overrides = {
        place: PlainText(text="\n".join(textwrap.wrap(name, 22)) or name)
        for place, name in zip(places, names, strict=True)
    }


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


# --- a heat map -----------------------------------------------------------------------------------


def _draw_heat(plot: Any, heat: Heat, panel: Panel) -> None:
    from bokeh.models import ColorBar, LinearColorMapper, LogColorMapper, PlainText
    from bokeh.palettes import Viridis256

    values = np.asarray(heat.values, np.float64)
    palette = Viridis256[::-1] if heat.smaller else Viridis256
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
    kind = LogColorMapper if is_wide(values.ravel()) else LinearColorMapper
    mapper = kind(palette=palette, low=low, high=high, nan_color="rgba(0, 0, 0, 0)")
    rows, columns = (grid.ravel() for grid in np.indices(values.shape))
    source = {
        "left": columns - 0.5, "right": columns + 0.5, "top": rows - 0.5, "bottom": rows + 0.5,
        "value": values.ravel(),
        "said": [
            f"{panel.y} {heat.y[r]}, {panel.x} {heat.x[c]}: "
            + (f"{heat.unit} {number(values[r, c])}" if np.isfinite(values[r, c]) else "no value")
            for r, c in zip(rows.tolist(), columns.tolist(), strict=True)
        ],
    }  # fmt: skip
    fill = {"field": "value", "transform": mapper}
    plot.quad(
        left="left", right="right", top="top", bottom="bottom", fill_color=fill, line_color=PAPER,
        source=source, tags=["cell", ""],
    )  # fmt: skip
    if values.size <= MOST_TEXTS:
        _write_values(plot, values, kind is LogColorMapper, heat.smaller)
    if heat.best is not None:
        row, column = heat.best
        marked = {"fill_color": None, "line_color": BEST, "line_width": 3}
        plot.block(x=[column - 0.5], y=[row - 0.5], width=1, height=1, **marked)
    _set_ticks(plot.xaxis, range(len(heat.x)), heat.x)
    _set_ticks(plot.yaxis, range(len(heat.y)), heat.y)
    plot.grid.grid_line_color = None
    plot.x_range.range_padding = plot.y_range.range_padding = 0
    plot.y_range.start, plot.y_range.end = len(heat.y) - 0.5, -0.5
    look: dict[str, Any] = {"title_text_color": MUTED, "title_text_font": FONT}
    look |= {"major_label_text_color": MUTED}
    look |= {"background_fill_color": PAPER, "major_label_text_font": FONT, "bar_line_color": None}
    bar = ColorBar(color_mapper=mapper, title=PlainText(text=heat.unit), width=12, **look)
    bar.title_text_font_style = "normal"
    plot.add_layout(bar, "right")


def _write_values(plot: Any, values: np.ndarray, log: bool, smaller: bool) -> None:
    """Values in their cells, light on dark and dark on light."""
    scale = np.log(values) if log else values
    low, high = np.nanmin(scale), np.nanmax(scale)
    light = (scale - low) / max(high - low, 1e-300)
    bright = light < 0.4 if smaller else light > 0.6
    places = [tuple(place) for place in np.argwhere(np.isfinite(values)).tolist()]
    for is_bright, colour in ((True, "#101418"), (False, "#f8fafb")):
        texts = [(c, r, f"{values[r, c]:.3g}") for r, c in places if bright[r, c] == is_bright]
        if texts:
            _write(plot, texts, colour, "", "values")
