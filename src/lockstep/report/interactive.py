"""Charts drawn by Bokeh, for pages: values under the pointer, curves hidden by a click on a name,
zoom. A page holds Bokeh's script and all data itself and asks no host for anything.

Plots get the colours of a light page; `page.js` replaces each by the page's CSS variable `--c-` and
its six digits where there is one, as in the dark. It also draws the plots, and what it says of a
point is text, never HTML.
"""

from __future__ import annotations

import html
import json
from importlib import resources
from importlib.util import find_spec

from lockstep.report.bokeh_plot import bokeh_plot
from lockstep.report.charts import Chart, Panel, Series, css_colour, panel_rows, series_colours

MOST_POINTS = 60_000  # of a chart, for the page's size


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

    plot = bokeh_plot(panel, colours, thin)
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
