"""A panel of a chart as an SVG element for a notebook: curves and heat maps, with the values under
the pointer. Drawn in milliseconds, by nothing but text: no script, no library, so it works while a
run goes on, and in a saved notebook.

Lines and letters have the colour of the text around them, which fits light and dark pages. What is
shown under the pointer is hidden until the style of `notebook_html.py` shows it.
"""

from __future__ import annotations

import html
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from lockstep.report.charts import (
    COUNTS,
    SERIES,
    Chart,
    Guide,
    Panel,
    Series,
    is_wide,
    panel_rows,
    series_colours,
    thinned,
)
from lockstep.report.quantities import number
from lockstep.report.svg_heat import heat_svg
from lockstep.report.svg_parts import (
    BOTTOM,
    HEIGHT,
    LEFT,
    MIDDLE,
    RIGHT,
    TOP,
    WIDE,
    WIDTH,
    line_looks,
    path_of,
    seen,
    spread,
    text_svg,
)

MOST_POINTS = 300  # of a curve: about one for each pixel
PLACES = 50  # where values are shown under the pointer
NUM_TICKS = 6


@dataclass(frozen=True)
class Axis:
    """From values to places: `low` at `begin`, `high` at `end`."""

    low: float
    high: float
    begin: float
    end: float
    log: bool = False

    def __call__(self, values: np.ndarray) -> np.ndarray:
        low, high, found = self.low, self.high, np.asarray(values, np.float64)
        if self.log:
            with np.errstate(divide="ignore", invalid="ignore"):
                low, high, found = math.log10(low), math.log10(high), np.log10(found)
            found = np.where(np.isfinite(found), found, np.nan)
        return self.begin + (found - low) / (high - low) * (self.end - self.begin)

    def at(self, value: float) -> float:
        return float(self(np.array([value]))[0])


def ticks(low: float, high: float, log: bool = False, *, least: float = 0.0) -> list[float]:
    """A few round values between two, at least `least` apart.

    >>> ticks(0.0, 450.0), ticks(0.25, 1.5)
    ([0.0, 100.0, 200.0, 300.0, 400.0], [0.5, 1.0, 1.5])
    >>> ticks(0.02, 3.0, log=True)
    [0.1, 1.0]
    """
    if log:
        powers = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
        if len(powers) > 1:
            return [10.0**power for power in powers[:: math.ceil(len(powers) / NUM_TICKS)]]
        found = [m * 10.0**p for p in range(powers.start - 1, powers.stop + 1) for m in (1, 2, 5)]
        return [value for value in found if low <= value <= high]
    rough = max((high - low) / (NUM_TICKS - 1), least)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def tick_text(value: float) -> str:
    """
    >>> [tick_text(v) for v in (0.30000000000000004, 12000.0, 1e-7, 0.0)]
    ['0.3', '12,000', '1e-07', '0']
    """
    if 1000 <= abs(value) < 1e7:
        return f"{value:,.6g}"
    return f"{value:.4g}"


def panel_svg(panel: Panel, colours: dict[str, str], *, places: int = PLACES) -> str:
    """The panel as an <svg> element; `colours` are those of labels (`charts.series_colours`)."""
    (width, height), heat = _size(panel), panel.heat
    inside = (
        heat_svg(panel, heat, width, height) if heat else _curves(panel, colours, width, places)
    )
    said = html.escape(panel.caption or f"{panel.title or panel.y}: {panel.y} against {panel.x}")
    head = (
        text_svg(LEFT, 14, panel.title, 'font-size="13" font-weight="600"') if panel.title else ""
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{said}" style="width:100%;max-width:{width}px;height:auto" '
        f'font-family="system-ui,sans-serif" font-size="11" fill="currentColor">'
        f"{head}{''.join(inside)}</svg>"
    )


def chart_svg(chart: Chart) -> str:
    """All panels of a chart as one picture, for where there is no page around it."""
    colours, parts, width, top = series_colours(chart.panels), [], WIDTH, 0
    for row in panel_rows(chart):
        left, bottom = 0, top
        for panel in row:
            across, down = _size(panel)
            place = f'<svg x="{left}" y="{top}" width="{across}" height="{down}" '
            parts.append(panel_svg(panel, colours, places=0).replace("<svg ", place, 1))
            left, bottom = left + across, max(bottom, top + down)
        width, top = max(width, left), bottom
    size = f'width="{width}" height="{top}" viewBox="0 0 {width} {top}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(parts)}</svg>'


def spark_svg(values: np.ndarray) -> str:
    """A curve alone, as high as a line of text; nothing without two values."""
    y = values[np.isfinite(values)]
    y = y[spread(len(y), 60)]
    if len(y) < 2:
        return ""
    if is_wide(y):
        y = np.log(y)
    low, high = float(y.min()), float(y.max())
    drawn = 16 - 14 * (y - low) / max(high - low, 1e-300)
    path = path_of(np.linspace(1, 99, len(y)), drawn, steps=False)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="18" viewBox="0 0 100 18">'
        f'<path d="{path}" fill="none" stroke="{SERIES[0]}" stroke-width="1.4"/></svg>'
    )


def _size(panel: Panel) -> tuple[int, int]:
    width = WIDE if panel.wide else WIDTH
    if panel.heat is None:
        return width, HEIGHT
    return width, max(HEIGHT, TOP + BOTTOM + 24 * len(panel.heat.y))


# --- curves ---------------------------------------------------------------------------------------


def _curves(panel: Panel, colours: dict[str, str], width: int, places: int) -> Iterator[str]:
    drawn = [series for series in map(_finite, panel.series) if np.isfinite(series.y).any()]
    x, y = _axes(panel, drawn, width)
    yield from _frame(panel, x, y)
    for guide in panel.guides:
        yield _guide(guide, x, y)
    for series in drawn:
        yield from _series(series, series.colour or colours[series.label], x, y)
    if not drawn:
        yield text_svg((x.begin + x.end) / 2, (y.begin + y.end) / 2, "nothing yet", MIDDLE)
    yield from _under_pointer(panel, drawn, colours, x, y, places)


def _finite(series: Series) -> Series:
    x, y = thinned(np.asarray(series.x, np.float64), np.asarray(series.y, np.float64))
    return Series(**{**vars(series), "x": x, "y": y, "low": None, "high": None})


def _axes(panel: Panel, drawn: Sequence[Series], width: int) -> tuple[Axis, Axis]:
    xs = np.concatenate([np.zeros(0), *(series.x for series in drawn)])
    ys = np.concatenate([np.zeros(0), *(series.y for series in drawn)])
    low, high = _range(xs, panel.x_log, 0.0)
    x = Axis(low, high, LEFT, width - RIGHT, panel.x_log)
    low, high = panel.y_range or _range(ys, panel.y_log, 0.06)
    if panel.y_zero and not panel.y_log:
        low, high = min(0.0, low), max(high, 1e-12)
    return x, Axis(low, high, HEIGHT - BOTTOM, TOP, panel.y_log)


def _range(values: np.ndarray, log: bool, margin: float) -> tuple[float, float]:
    """From the least to the greatest, with some room; never of no length."""
    values = values[np.isfinite(values) & (values > 0 if log else True)]
    if not len(values):
        return (1.0, 10.0) if log else (0.0, 1.0)
    low, high = float(values.min()), float(values.max())
    if log:
        room = max((high / low) ** margin, 1.05)
        # a value at the edge of what floats can hold has no room beyond it
        return max(low / room, sys.float_info.min), min(high * room, sys.float_info.max)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        room = abs(high) / 2 or 0.5
        return low - room, high + room
    return low - margin * (high - low), high + margin * (high - low)


def _frame(panel: Panel, x: Axis, y: Axis) -> Iterator[str]:
    """The grid, the marks of the axes, and what the axes are."""
    for value in ticks(y.low, y.high, y.log):
        at = f"{y.at(value):.1f}"
        yield f'<path d="M{x.begin},{at}H{x.end}" stroke="currentColor" stroke-opacity=".14"/>'
        yield text_svg(
            x.begin - 6, y.at(value) + 4, tick_text(value), 'text-anchor="end" opacity=".7"'
        )
    yield f'<path d="M{x.begin},{y.begin}H{x.end}" stroke="currentColor" stroke-opacity=".4"/>'
    found = ticks(x.low, x.high, x.log, least=1.0 if panel.x in COUNTS else 0.0)
    marks = panel.x_ticks or {value: tick_text(value) for value in found}
    for value, name in marks.items():
        yield text_svg(x.at(value), y.begin + 15, name, f'{MIDDLE} opacity=".7"')
    yield text_svg((x.begin + x.end) / 2, y.begin + 31, panel.x, f'{MIDDLE} opacity=".7"')
    if panel.y and panel.y != panel.title:
        middle = (y.begin + y.end) / 2
        turned = f'{MIDDLE} opacity=".7" transform="rotate(-90 11 {middle:.0f})"'
        yield text_svg(11, middle, panel.y, turned)


def _guide(guide: Guide, x: Axis, y: Axis) -> str:
    axis = y if guide.axis == "y" else x
    at = axis.at(guide.value)
    if not min(axis.begin, axis.end) <= at <= max(axis.begin, axis.end):
        return ""
    path = f"M{x.begin},{at:.1f}H{x.end}" if axis is y else f"M{at:.1f},{y.begin}V{y.end}"
    line = f'<path d="{path}" stroke="{seen(guide.colour)}" stroke-dasharray="4 3"/>'
    place = (x.begin + 4, at - 4) if axis is y else (at + 4, y.end + 10)
    return line + (text_svg(*place, guide.label, 'opacity=".8"') if guide.label else "")


def _series(series: Series, colour: str, x: Axis, y: Axis) -> Iterator[str]:
    xs, ys = x(np.asarray(series.x)), y(np.asarray(series.y))
    few = spread(len(xs), MOST_POINTS)
    xs, ys = xs[few], ys[few]
    if series.line and len(xs) > 1:
        yield (
            f'<path d="{path_of(xs, ys, steps=series.steps)}" fill="none" stroke-linejoin="round" '
            f"{line_looks(series, colour, series.width)}/>"
        )
    if series.marker or not series.line or len(xs) == 1:
        known = np.isfinite(xs) & np.isfinite(ys)
        dots = zip(xs[known].tolist(), ys[known].tolist(), strict=True)
        yield (  # a line of no length with round ends is a dot, in ten letters
            f'<path d="{"".join(f"M{a:.1f},{b:.1f}h0" for a, b in dots)}" stroke="{seen(colour)}" '
            f'stroke-width="{5 if series.marker else 3}" stroke-opacity="{series.alpha:g}" '
            f'stroke-linecap="round"/>'
        )


def _under_pointer(
    panel: Panel, drawn: Sequence[Series], colours: dict[str, str], x: Axis, y: Axis, places: int
) -> Iterator[str]:
    """Strips from left to right; the one under the pointer shows the values of its place."""
    told = {series.label: series for series in drawn if series.label}  # a label's last series
    all_x = np.unique(np.concatenate([np.zeros(0), *(series.x for series in told.values())]))
    chosen = all_x[spread(len(all_x), places)] if len(all_x) else all_x
    middles = x(chosen)
    keep = np.isfinite(middles)
    chosen, middles = chosen[keep], middles[keep].tolist()
    edges = [x.begin, *((a + b) / 2 for a, b in pairwise(middles)), x.end]
    if middles:  # what is hidden still feels the pointer
        yield '<g class="lockstep-at" visibility="hidden" pointer-events="all">'
    for value, middle, (left, right) in zip(chosen, middles, pairwise(edges), strict=False):
        said, marks = [], []
        for label, series in told.items():
            near = int(np.abs(series.x - value).argmin())
            at = y.at(series.y[near])
            if math.isfinite(at):
                said.append(f"{label} {number(float(series.y[near]))}")
                colour = seen(series.colour or colours[label])
                marks.append(f'<circle cx="{middle:.0f}" cy="{at:.0f}" r="3.5" fill="{colour}"/>')
        words = f"{panel.x} {value:,.6g}: {', '.join(said)}"
        right_half = middle > (x.begin + x.end) / 2
        place = x.end if right_half else x.begin
        anchor = 'text-anchor="end"' if right_half else ""
        yield (
            f'<g><path d="M{left:.1f},{y.end}H{right:.1f}V{y.begin}H{left:.1f}z"/>'
            f'<g><path d="M{middle:.0f},{y.begin}V{y.end}" stroke="currentColor"/>'
            f"{''.join(marks)}{text_svg(place, TOP - 1, words, anchor)}</g></g>"
        )
    if middles:
        yield "</g>"
