"""The parts of a self-contained HTML page: no network; figures, scripts and style inside. Light or
dark by the reader's choice, readable on a phone.

Small functions that build text; every value from outside goes through `html.escape`.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from lockstep.errors import MissingError
from lockstep.report.quantities import words
from lockstep.schedules import Schedule, format_schedule

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lockstep.report.charts import Chart
    from lockstep.spec import RunSpec

PLOT = 'class="plot"'  # of an interactive chart; text of others is escaped
Cell = str | tuple[str, str]  # text, or text and the class of its cell


def document(title: str, *parts: str) -> str:
    """A whole document around parts that are HTML already."""
    from lockstep.report import interactive

    name = html.escape(title)
    style = resources.files("lockstep.report").joinpath("page.css").read_text()
    scripts = interactive.scripts() if any(PLOT in part for part in parts) else ""
    body = "\n".join(part for part in parts if part)
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{name}</title>\n<style>\n{style}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n{scripts}</body>\n</html>\n"
    )


def heading(title: str, about: str) -> str:
    return f"<header>\n<h1>{html.escape(title)}</h1>\n<p>{html.escape(about)}</p>\n</header>"


def banner(kind: str, word: str, sentence: str) -> str:
    """The outcome, first of all. `kind`: good, bad or fair."""
    said = html.escape(sentence)
    return f'<p class="banner {kind}"><strong>{html.escape(word)}</strong> {said}</p>'


def section(title: str, *parts: str) -> str:
    inside = "\n".join(part for part in parts if part)
    return f"<section>\n<h2>{html.escape(title)}</h2>\n{inside}\n</section>" if inside else ""


def table(head: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """A table whose first column names the row; it scrolls sideways where it is too wide."""
    cells = [[_cell(cell) for cell in row] for row in rows]
    words = {i for row in cells for i, (_, kind) in enumerate(row) if kind == "text"}
    top = "".join(
        f'<th scope="col"{_class("text" if i in words else "")}>{html.escape(name)}</th>'
        for i, name in enumerate(head)
    )
    body = "\n".join(
        f'<tr><th scope="row">{first}</th>'
        + "".join(f"<td{_class(kind)}>{text}</td>" for text, kind in rest)
        + "</tr>"
        for (first, _), *rest in cells
    )
    return (
        f'<div class="wide"><table>\n<thead><tr>{top}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody>\n</table></div>"
    )


def facts(pairs: Sequence[tuple[str, Any]]) -> str:
    """Names and values."""
    items = "".join(
        f"<div><dt>{html.escape(str(name))}</dt><dd>{html.escape(str(value))}</dd></div>\n"
        for name, value in pairs
    )
    return f"<dl>\n{items}</dl>" if items else ""


def chart(chart: Chart, name: str, caption: str) -> str:
    """A chart with its caption and note: interactive where Bokeh is installed, else an SVG.

    `name` keeps the ids of several charts apart.
    """
    from lockstep.report import figures, interactive

    if not chart.panels:
        return ""
    said = html.escape(caption if chart.note in caption else f"{caption} {chart.note}")
    if interactive.is_installed():
        drawn = interactive.figure_html(chart, name)
        return f"<figure>\n{drawn}\n<figcaption>{said}</figcaption>\n</figure>"
    return figure(lambda: figures.draw(chart), name, caption)


def figure(draw: Callable[[], Figure], name: str, caption: str) -> str:
    """A figure with its caption; a line in its place where matplotlib is missing."""
    from lockstep.report.figures import figure_svg

    try:
        svg = figure_svg(draw(), name, caption)
    except MissingError as error:
        return f'<p class="note">No figure: {html.escape(str(error))}</p>'
    return f"<figure>\n{svg}\n<figcaption>{html.escape(caption)}</figcaption>\n</figure>"


def code(text: str) -> str:
    """Text as it is typed."""
    return f"<pre>{html.escape(text)}</pre>"


def details(summary: str, text: str) -> str:
    """Text as it stands, folded away."""
    inside = html.escape(text.rstrip())
    return f"<details><summary>{html.escape(summary)}</summary><pre>{inside}</pre></details>"


def machine(values: Mapping[str, Any]) -> str:
    """Where and with what it ran."""
    shown = {name: _told(value) for name, value in values.items() if value not in ("", {}, None)}
    return facts([(words(name), value) for name, value in shown.items()])


def asked(spec: RunSpec) -> str:
    """What was asked, in outline and, folded away, in full."""
    return facts(asked_pairs(spec)) + details("all of it, as TOML", spec.to_toml())


def asked_pairs(spec: RunSpec) -> list[tuple[str, Any]]:
    """The outline of what was asked: names and values."""
    schedule = spec.schedule
    text = format_schedule(schedule) if isinstance(schedule, Schedule) else schedule.kind
    return [
        ("data", spec.data.kind),
        ("model", spec.model.kind),
        ("optimizer", spec.optimizer.kind),
        (f"learning rate, per {spec.schedule_per}", text),
        ("batch size", spec.batch_size),
        ("seed", spec.seed),
    ]


def _told(value: Any) -> Any:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {each}" for name, each in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else value


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _cell(cell: Cell) -> tuple[str, str]:
    text, kind = (cell, "") if isinstance(cell, str) else cell
    return html.escape(text), html.escape(kind)
