"""A heat map for a notebook as a part of an SVG picture: cells with their values."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator

import numpy as np

from lockstep.report.charts import Heat, Panel, is_wide
from lockstep.report.quantities import number
from lockstep.report.svg_parts import BOTTOM, LEFT, MIDDLE, RIGHT, TOP, spread, text_svg

SHADES = ("#fde725", "#7ad151", "#22a884", "#2a788e", "#414487", "#440154")  # light to dark


def heat_svg(panel: Panel, heat: Heat, width: int, height: int) -> Iterator[str]:
    """Cells with their values written on them where there is room."""
    values = np.asarray(heat.values, np.float64)
    left = LEFT + 30
    across, down = (width - RIGHT - left) / len(heat.x), (height - BOTTOM - TOP) / len(heat.y)
    shades = _shares(values)
    for i, j in np.ndindex(values.shape):
        value, share = float(values[i, j]), float(shades[i, j])
        a, b = left + j * across, TOP + i * down
        known = math.isfinite(share)
        better = 1 - share if heat.smaller else share  # dark is good
        place = round(better * (len(SHADES) - 1)) if known else 0
        fill, ink = (SHADES[place], "#fff" if place > 2 else "#222") if known else ("none", "none")
        said = f"{panel.y} {heat.y[i]}, {panel.x} {heat.x[j]}: {heat.unit} {number(value)}"
        edge = 'stroke="#d55e00" stroke-width="3"' if heat.best == (i, j) else ""
        yield (
            f'<g><title>{html.escape(said)}</title><rect x="{a + 1:.1f}" y="{b + 1:.1f}" '
            f'width="{max(1.0, across - 2):.1f}" height="{max(1.0, down - 2):.1f}" '
            f'fill="{fill}" {edge}/>'
        )
        if known and across > 40:
            text = f'{MIDDLE} fill="{ink}"'
            yield text_svg(a + across / 2, b + down / 2 + 4, number(value), text)
        yield "</g>"
    for j in spread(len(heat.x), max(1, int((width - left) / 46))).tolist():
        yield text_svg(left + (j + 0.5) * across, height - BOTTOM + 15, heat.x[j], MIDDLE)
    for i, name in enumerate(heat.y):
        yield text_svg(left - 6, TOP + (i + 0.5) * down + 4, name, 'text-anchor="end"')
    yield text_svg(
        (left + width - RIGHT) / 2, height - BOTTOM + 31, panel.x, f'{MIDDLE} opacity=".7"'
    )
    middle = (TOP + height - BOTTOM) / 2
    turned = f'{MIDDLE} opacity=".7" transform="rotate(-90 11 {middle:.0f})"'
    yield text_svg(11, middle, panel.y, turned)


def _shares(values: np.ndarray) -> np.ndarray:
    """Where each value lies between the least (0) and the greatest (1)."""
    finite = values[np.isfinite(values)]
    if is_wide(finite):
        values, finite = np.log(values), np.log(finite)
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
    return (values - low) / max(high - low, 1e-300)
