"""The parts of a self-contained HTML page: no network, no scripts; figures and style inside. Light
or dark by the reader's choice, readable on a phone.

Small functions that build text; every value from outside goes through `html.escape`.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lockstep.errors import MissingError
from lockstep.report.quantities import words
from lockstep.schedules import Schedule, format_schedule

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lockstep.report.charts import Chart
    from lockstep.spec import RunSpec

Cell = str | tuple[str, str]  # text, or text and the class of its cell


def document(title: str, *parts: str) -> str:
    """A whole document around parts that are HTML already."""
    name = html.escape(title)
    body = "\n".join(part for part in parts if part)
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{name}</title>\n<style>\n{CSS}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
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


def figure(draw: Callable[[], Figure], name: str, caption: str) -> str:
    """A figure with its caption; a line in its place where matplotlib is missing."""
    from lockstep.report.figures import figure_svg

    try:
        svg = figure_svg(draw(), name, caption)
    except MissingError as error:
        return f'<p class="note">No figure: {html.escape(str(error))}</p>'
    return f"<figure>\n{svg}\n<figcaption>{html.escape(caption)}</figcaption>\n</figure>"


def chart(chart: Chart, name: str, caption: str) -> str:
    """A chart with its caption."""
    from lockstep.report.figures import draw

    return figure(lambda: draw(chart), name, caption)


def details(summary: str, text: str) -> str:
    """Text as it stands, folded away."""
    inside = html.escape(text.rstrip())
    return f"<details><summary>{html.escape(summary)}</summary><pre>{inside}</pre></details>"


def machine(values: Mapping[str, Any]) -> str:
    """Where and with what it ran."""
    shown = {name: ", ".join(v) if isinstance(v, list) else v for name, v in values.items()}
    return facts([(words(name), value) for name, value in shown.items()])


def asked(spec: RunSpec) -> str:
    """What was asked, in outline and, folded away, in full."""
    schedule = spec.schedule
    text = format_schedule(schedule) if isinstance(schedule, Schedule) else schedule.kind
    pairs = [
        ("data", spec.data.kind),
        ("model", spec.model.kind),
        ("optimizer", spec.optimizer.kind),
        (f"learning rate, per {spec.schedule_per}", text),
        ("batch size", spec.batch_size),
        ("seed", spec.seed),
    ]
    return facts(pairs) + details("all of it, as TOML", spec.to_toml())


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _cell(cell: Cell) -> tuple[str, str]:
    text, kind = (cell, "") if isinstance(cell, str) else cell
    return html.escape(text), html.escape(kind)


CSS = """\
:root {
  --ink: #1f2933; --muted: #6b7580; --grid: #dfe4e8; --paper: #fefefe; --back: #f4f6f8;
  --good: #0b6b4f; --good-back: #e3f4ee; --bad: #a33a06; --bad-back: #fdeee6;
  --fair: #7a5b00; --fair-back: #fdf5dd;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e6eaee; --muted: #a3adb7; --grid: #333c45; --paper: #1a2026; --back: #12161a;
    --good: #6fd6b4; --good-back: #12332a; --bad: #ffa477; --bad-back: #3d2113;
    --fair: #f0cf70; --fair-back: #362c0e;
    --f-oracle: #dbe1e7; --f-numpy: #929ca6;
    --f-torch: #ff8a3d; --f-jax: #4fb0f0; --f-tensorflow: #f5c04a;
    --f-paddle: #8fd0f5; --f-mindspore: #e3a0c6; --f-mxnet: #3fd0a4;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--back); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 0 0 .75rem; }
header p { color: var(--muted); margin: .3rem 0 1rem; overflow-wrap: anywhere; }
section {
  background: var(--paper); border: 1px solid var(--grid); border-radius: .6rem;
  padding: 1rem 1.1rem; margin-top: 1rem;
}
.banner { border-radius: .6rem; padding: .85rem 1.1rem; margin: 1rem 0 0; font-size: 1.05rem; }
.banner strong { margin-right: .4em; }
section > *:last-child { margin-bottom: 0; }
.good { color: var(--good); } .bad { color: var(--bad); } .fair { color: var(--fair); }
.banner.good { background: var(--good-back); }
.banner.bad { background: var(--bad-back); }
.banner.fair { background: var(--fair-back); }
.wide { overflow-x: auto; }
dl + *, .wide + * { margin-top: 1rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .55rem; text-align: right; border-bottom: 1px solid var(--grid); }
thead th { color: var(--muted); font-weight: 500; font-size: .85rem; vertical-align: bottom; }
th:first-child, .text { text-align: left; }
th:first-child, td { white-space: nowrap; }
td.text { white-space: normal; min-width: 8.5rem; }
tbody tr:last-child > * { border-bottom: 0; }
td.good, td.bad, td.fair { font-weight: 600; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: .6rem 1.5rem;
  margin: 0; }
dt { color: var(--muted); font-size: .85rem; }
dd { margin: 0; overflow-wrap: anywhere; }
figure { margin: 0 0 1.25rem; }
figure:last-child { margin-bottom: 0; }
figure svg { display: block; width: 100%; height: auto; }
figure svg text { font-family: inherit !important; }
figcaption, .note { color: var(--muted); font-size: .9rem; }
p { margin: 0 0 .6rem; }
pre { overflow-x: auto; background: var(--back); padding: .8rem; border-radius: .4rem;
  font: .85rem/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
summary { cursor: pointer; color: var(--muted); }
@media (max-width: 34rem) {
  main { padding: 1rem .6rem 3rem; }
  section { padding: .8rem; }
  figure { overflow-x: auto; }
  figure svg { min-width: 26rem; }
}
"""
