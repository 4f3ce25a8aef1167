"""The page of an experiment: its question, the figure, the table, what to look at, how to go on.
The same as Markdown, for documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from lockstep.report import page
from lockstep.report.charts import Chart
from lockstep.report.tables import TextTable


@dataclass(frozen=True)
class Told:
    """What is told of an answer beside its tables and its figure."""

    name: str
    question: str
    how: str
    look_at: str = ""
    to_change: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)
    command: str = ""
    quick: bool = False


def experiment_page(told: Told, parts: Iterable[TextTable | str], chart: Chart | None) -> str:
    """The page as text."""
    about = f"experiment {told.name}{', its quick form: a smaller version' if told.quick else ''}"
    drawn = page.chart(chart, told.name, chart.note) if chart else ""
    commands = "\n".join(told.to_change)
    return page.document(
        told.question,
        page.heading(told.question, about),
        page.section("Answer", drawn, *(text_part(part) for part in parts)),
        page.section("What to look at", *_paragraphs(told.look_at)),
        page.section("How it was found", *_paragraphs(told.how)),
        page.section("How to change it", page.code(commands) if commands else ""),
        page.section("Settings", page.facts(list(told.settings.items()))),
        page.section("Machine", page.machine(told.machine) if told.machine else ""),
        page.section("The command that made it", page.code(told.command)),
    )


def text_part(part: TextTable | str) -> str:
    """A table or a line of text as HTML."""
    if isinstance(part, str):
        return f"<p>{escape(part.strip())}</p>" if part.strip() else ""
    left = [name in part.left for name in part.columns]
    rows = [
        [(cell, "text") if is_text else cell for cell, is_text in zip(row, left, strict=True)]
        for row in part.rows
    ]
    title = f"<h3>{escape(part.title)}</h3>" if part.title else ""
    return title + page.table(part.columns, rows)


def _paragraphs(text: str) -> list[str]:
    parts = [" ".join(part.split()) for part in text.split("\n\n")]
    return [f"<p>{escape(part)}</p>" for part in parts if part]


# --- as Markdown ----------------------------------------------------------------------------------


def experiment_markdown(told: Told, parts: Iterable[TextTable | str], figure: str) -> str:
    """The same as a Markdown document; `figure` is the name of the file beside it, "" for none."""
    form = " (its quick form, a smaller version)" if told.quick else ""
    blocks = [
        f"# {told.question}",
        f"```\n{told.command}\n```",
        f"Experiment `{told.name}`{form}. {told.how}",
        f"![{told.question}]({figure})" if figure else "",
        *(_markdown_part(part) for part in parts),
        "## What to look at" if told.look_at else "",
        *(" ".join(part.split()) for part in told.look_at.split("\n\n")),
        "## How to change it" if told.to_change else "",
        "```\n" + "\n".join(told.to_change) + "\n```" if told.to_change else "",
        _made_on(told.machine),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _made_on(machine: Mapping[str, Any]) -> str:
    if not machine:
        return ""
    where = f"{machine['processor']}, {machine['cores']} cores, Python {machine['python']}"
    return f"Made by the command above on {where}, Lockstep {machine['lockstep']}."


def _markdown_part(part: TextTable | str) -> str:
    if isinstance(part, str):
        return " ".join(part.split())
    marks = [":--" if name in part.left else "--:" for name in part.columns]
    lines = [part.columns, marks, *part.rows]
    rows = ["| " + " | ".join(map(_cell, line)) + " |" for line in lines]
    return (f"**{part.title}**\n\n" if part.title else "") + "\n".join(rows)


def _cell(text: str) -> str:
    """
    >>> _cell("a|b\\nc")
    'a\\\\|b c'
    """
    return " ".join(text.split()).replace("|", "\\|")
