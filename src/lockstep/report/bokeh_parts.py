"""What plots by Bokeh have in common: texts in their places, and axes with names for marks."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"


def write_texts(
    plot: Any, texts: Sequence[tuple[float, float, str]], colour: str, name: str = "", *tags: str
) -> None:
    """Texts in the middle of their places (x, y, text)."""
    from bokeh.core.properties import value

    look: dict[str, Any] = {"text_font": value(FONT), "text_font_size": "11px"}
    look |= {"text_align": "center", "text_baseline": "middle", "text_color": colour}
    x, y, text = zip(*texts, strict=True)
    plot.text(x=list(x), y=list(y), text=list(text), name=name, tags=list(tags), **look)


def set_ticks(axis: Any, places: Sequence[float], names: Sequence[str]) -> None:
    """The only marks of an axis, with names; long ones in several lines."""
    from bokeh.models import FixedTicker, PlainText

    axis.ticker = FixedTicker(ticks=list(places), minor_ticks=[])
    # plain text: Bokeh would take dollar signs for a formula, and ask a host how to set it
    axis.major_label_overrides = {
        place: PlainText(text="\n".join(textwrap.wrap(name, 22)) or name)
        for place, name in zip(places, names, strict=True)
    }
