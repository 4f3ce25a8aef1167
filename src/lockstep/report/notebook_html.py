"""What objects show in a notebook's output: headings, tables and pictures as HTML, with no script.
Pictures show values under the pointer. Every value from outside goes through `html.escape`.

It differs from a page (`page.py`): it lies among a notebook's own text, in its colours and font.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

from lockstep.report import page
from lockstep.report.charts import Chart, Panel, series_colours
from lockstep.report.svg_parts import line_looks
from lockstep.report.svg_plot import PLACES, panel_svg, spark_svg

STYLE = (
    "<style>"
    ".lockstep{max-width:820px}"
    ".lockstep .charts{display:flex;flex-wrap:wrap;gap:4px 20px}"
    ".lockstep .charts>div{flex:1 1 340px}"
    ".lockstep .charts>.whole{flex-basis:100%}"
    ".lockstep .lockstep-at>g>g{pointer-events:none}"
    ".lockstep .lockstep-at>g:hover>g{visibility:visible}"
    ".lockstep .names{font-size:12px;display:flex;flex-wrap:wrap;gap:2px 14px}"
    ".lockstep table{margin:6px 0;border-collapse:collapse;font-size:12px}"
    ".lockstep th,.lockstep td{padding:2px 10px;text-align:right}"
    ".lockstep th:first-child,.lockstep td.text,.lockstep th.text{text-align:left}"
    ".lockstep .wide{overflow-x:auto}"
    ".lockstep pre{font-size:12px;white-space:pre-wrap}"
    "</style>"
)


def block(*parts: str) -> str:
    """One output: parts that are HTML already, in the style of all of them."""
    inside = "\n".join(part for part in parts if part)
    return f'<div class="lockstep">{STYLE}\n{inside}\n</div>'


def title(text: str, about: str = "") -> str:
    more = f" <span style='opacity:.7'>{html.escape(about)}</span>" if about else ""
    return f"<div><strong>{html.escape(text)}</strong>{more}</div>"


def line(text: str) -> str:
    return f"<div>{html.escape(text)}</div>" if text else ""


def facts(pairs: Sequence[tuple[str, str]]) -> str:
    """Names and values, a row each."""
    rows = "".join(
        f'<tr><th>{html.escape(name)}</th><td class="text">{html.escape(value)}</td></tr>'
        for name, value in pairs
    )
    return f"<table>{rows}</table>" if rows else ""


def table(head: Sequence[str], rows: Sequence[Sequence[str]], curves: Sequence[np.ndarray]) -> str:
    """Text in rows, each with a small curve at its end."""
    top = "".join(f'<th class="text">{html.escape(name)}</th>' for name in (*head, "loss"))
    body = "".join(
        "<tr>"
        + "".join(f'<td class="text">{html.escape(cell)}</td>' for cell in row)
        + f'<td class="text">{spark_svg(curve)}</td></tr>'
        for row, curve in zip(rows, curves, strict=True)
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>" if rows else ""


def folded(summary: str, text: str) -> str:
    return page.details(summary, text)


def charts(chart: Chart, *, places: int = PLACES) -> str:
    """The panels of a chart. The names of curves are above them, once if all have the same."""
    colours = series_colours(chart.panels)
    names = [_names(panel, colours) for panel in chart.panels]
    shared = names[0] if len(names) > 1 and len(set(names)) == 1 else ""
    kinds = [' class="whole"' if panel.wide else "" for panel in chart.panels]
    pictures = "".join(
        f"<div{kind}>{'' if shared else above}{panel_svg(panel, colours, places=places)}</div>"
        for panel, kind, above in zip(chart.panels, kinds, names, strict=True)
    )
    return f'{shared}<div class="charts">{pictures}</div>' if pictures else ""


def _names(panel: Panel, colours: dict[str, str]) -> str:
    """The names of a panel's curves, each beside its colour; one alone says nothing new."""
    curves = {series.label: series for series in panel.series if series.label}  # its last series
    names = "".join(
        f'<span><svg width="18" height="8"><path d="M0,4H18" '
        f"{line_looks(series, colours[label], 2.5)}/></svg> {html.escape(label)}</span>"
        for label, series in curves.items()
    )
    return f'<div class="names">{names}</div>' if len(curves) > 1 else ""


def bar(share: float, words: str) -> str:
    """How far some work is: a bar and, beside it, words."""
    width = 100 * min(1.0, max(0.0, share))
    return (
        '<div style="display:flex;align-items:center;gap:10px;font-size:13px">'
        '<div style="flex:0 0 200px;height:8px;border-radius:4px;'
        'background:rgba(128,128,128,.25)">'
        f'<div style="width:{width:.1f}%;height:8px;border-radius:4px;background:#0072b2"></div>'
        f"</div><span>{html.escape(words)}</span></div>"
    )
