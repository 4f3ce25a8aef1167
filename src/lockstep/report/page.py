"""One self-contained HTML page: no network, no scripts; figures and style inside.

Small functions that build text; every value from outside goes through `html.escape`.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockstep.errors import MissingError
from lockstep.files import write_whole
from lockstep.report.numbers import words
from lockstep.report.page_style import CSS
from lockstep.report.tables import epoch_rows, run_facts
from lockstep.schedules import Schedule, format_schedule

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lockstep.spec import RunSpec
    from lockstep.training.directory import RunDirectory
    from lockstep.training.history import History

Cell = str | tuple[str, str]  # text, or text and the class of its cell


def page(title: str, *parts: str) -> str:
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


# --- a run ----------------------------------------------------------------------------------------

KINDS = {"completed": "good", "diverged": "bad"}


def run_page(directory: RunDirectory, history: History) -> str:
    """The page of one run: how it ended, its curves, what was asked, where it ran."""
    from lockstep.report.figures import run_figure

    spec, status = directory.spec, directory.status
    about = f"{spec.style}, {spec.precision}, batch size {spec.batch_size}, seed {spec.seed}"
    ended = f"after {len(history):,} steps"
    pairs = [
        pair for pair in run_facts(history, status) if pair[0] not in ("status", "path", "note")
    ]
    caption = "Loss of every step, metrics of every epoch, and the learning rate."
    drawn = figure(lambda: run_figure(history, framework=spec.framework), "run", caption)
    return page(
        f"{spec.name} in {spec.framework}",
        heading(f"{spec.name} in {spec.framework}", about),
        banner(KINDS.get(status, "fair"), status, ended),
        section("Outcome", facts(pairs)),
        section("Curves", drawn if len(history) else ""),
        section("Epochs", _epochs(history)),
        section("Path", facts([("ran as", note) for note in history.notes])),
        section("Notes", facts([("note", text) for text in history.remarks])),
        section("What was asked", asked(spec)),
        section("Machine", machine(directory.machine)),
    )


def write_run_page(directory: RunDirectory, history: History) -> Path:
    """Write report.html into a run's directory."""
    path = directory.path / "report.html"
    write_whole(path, run_page(directory, history).encode())
    return path


def _epochs(history: History) -> str:
    head, *rows = epoch_rows(history)
    return table(head, rows) if rows else ""
