"""A heat map by Bokeh: coloured cells with their values, a bar of colours, the best cell marked."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.report.bokeh_parts import FONT, set_ticks, write_texts
from lockstep.report.charts import MUTED, PAPER, Heat, Panel, is_wide
from lockstep.report.quantities import number

BEST = "#d55e00"
MOST_TEXTS = 64  # cells whose values are written into them


def draw_heat(plot: Any, heat: Heat, panel: Panel) -> None:
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
    set_ticks(plot.xaxis, range(len(heat.x)), heat.x)
    set_ticks(plot.yaxis, range(len(heat.y)), heat.y)
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
            write_texts(plot, texts, colour, "", "values")
