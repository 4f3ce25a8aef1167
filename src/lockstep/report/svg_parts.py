"""What pictures by `svg_plot.py` have in common: sizes, text in its place, paths of points."""

from __future__ import annotations

import html
import math

import numpy as np

from lockstep.report.charts import FRAMEWORKS, INK, Series

WIDTH, HEIGHT, WIDE = 380, 230, 780  # of a picture; WIDE of a panel that has a row for itself
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 26, 40  # around the curves
MIDDLE = 'text-anchor="middle"'
DASHES = {"dashed": "6 4", "dotted": "2 3", "dashdot": "7 3 2 3"}
DARK = (INK, FRAMEWORKS["oracle"])


def text_svg(x: float, y: float, text: str, looks: str = "") -> str:
    """
    >>> text_svg(1, 2, "a < b", MIDDLE)
    '<text x="1" y="2" text-anchor="middle">a &lt; b</text>'
    """
    return f'<text x="{x:.0f}" y="{y:.0f}" {looks}>{html.escape(text)}</text>'


def seen(colour: str) -> str:
    """A colour that is seen on light and dark paper: instead of a dark grey, that of the text.

    >>> seen("#0072b2"), seen(INK)
    ('#0072b2', 'currentColor')
    """
    return "currentColor" if colour in DARK else colour


def line_looks(series: Series, colour: str, width: float) -> str:
    """How a curve is drawn, and the line beside its name."""
    dash = f' stroke-dasharray="{DASHES[series.dash]}"' if series.dash in DASHES else ""
    faint = f' stroke-opacity="{series.alpha:g}"' if series.alpha < 1.0 else ""
    return f'stroke="{seen(colour)}" stroke-width="{width:g}"{faint}{dash}'


def spread(count: int, most: int) -> np.ndarray:
    """The places of at most `most` of `count` points, both ends among them."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).round().astype(int))


def path_of(xs: np.ndarray, ys: np.ndarray, *, steps: bool) -> str:
    """
    >>> path_of(np.array([0.0, 1, 2, 3]), np.array([5.0, np.nan, 5, 6]), steps=False)
    'M0.0,5.0M2.0,5.0L3.0,6.0'
    """
    parts, begun = [], False
    for a, b in zip(xs.tolist(), ys.tolist(), strict=True):
        if not (math.isfinite(a) and math.isfinite(b)):
            begun = False
            continue
        step = f"H{a:.1f}V{b:.1f}" if steps else f"L{a:.1f},{b:.1f}"
        parts.append(step if begun else f"M{a:.1f},{b:.1f}")
        begun = True
    return "".join(parts)
