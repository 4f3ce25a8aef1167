"""A page of several runs, anybody's: their curves over each other, and a row for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from lockstep.errors import InputError
from lockstep.files import write_whole
from lockstep.report import page
from lockstep.report.curves import AXES, LoggedRun
from lockstep.report.explained import explained
from lockstep.report.page import Cell
from lockstep.report.run_charts import runs_chart
from lockstep.report.run_page import how_it_ended
from lockstep.report.run_rows import run_rows
from lockstep.training.directory import RunDirectory

KINDS = {"completed": "good", "diverged": "bad"}


def runs_page(
    runs: Sequence[LoggedRun], x: str = "step", title: str = "", command: str = ""
) -> str:
    """The page as text."""
    title = title or (runs[0].label if len(runs) == 1 else f"{len(runs)} runs")
    names = ", ".join(dict.fromkeys(f"{r.spec.name} in {r.spec.framework}" for r in runs))
    caption = f"Against {AXES[x]}; a loss that is noisy is drawn as its running mean."
    metrics = dict.fromkeys(name for run in runs for name in run.metrics)
    return page.document(
        title,
        page.heading(title, names),
        _banner(runs),
        page.section("Curves", page.chart(runs_chart(runs, x), "runs", caption)),
        page.section("Runs", _table(runs)),
        page.section("Settings", *(_settings(run) for run in runs)),
        page.section("Machine", *_machines(runs)),
        page.section(
            "The command that made this page", f"<pre>{escape(command)}</pre>" if command else ""
        ),
        page.section("Names", explained("seconds in steps", metrics=metrics)),
    )


def write_runs_page(
    runs: Sequence[LoggedRun], path: Path, x: str = "step", title: str = "", command: str = ""
) -> Path:
    """Write the page as one file."""
    check_place(path)
    write_whole(path, runs_page(runs, x, title, command).encode())
    return path


def check_place(path: Path) -> None:
    """Raise where a page cannot be written: before anything is read or drawn."""
    if path.is_dir():
        raise InputError("out", str(path), "is a folder", "Name a file, such as page.html.")
    if not path.parent.is_dir():
        problem = f"the folder {str(path.parent)!r} does not exist"
        raise InputError("out", str(path), problem, "Make it, or name a file in another folder.")


def _banner(runs: Sequence[LoggedRun]) -> str:
    """How they ended; the cause of every end that is not a good one."""
    others = [run for run in runs if run.status != "completed"]
    if not others:
        said = "the run came" if len(runs) == 1 else f"all {len(runs)} runs came"
        return page.banner("good", "completed", f"{said} to an end")
    causes = " ".join(_cause(run) for run in others)
    kind = "bad" if any(run.status == "diverged" for run in others) else "fair"
    return page.banner(kind, f"{len(others)} of {len(runs)} not completed", causes)


def _cause(run: LoggedRun) -> str:
    ended = how_it_ended(RunDirectory(run.path), run.history) if run.path else ""
    text = f"{run.label}: {run.status} {ended}".strip()
    return text if text.endswith(".") else f"{text}."


def _table(runs: Sequence[LoggedRun]) -> str:
    head, rows = run_rows(runs)
    place = head.index("status")
    cells: list[list[Cell]] = [
        [*row[:place], (row[place], KINDS.get(row[place], "fair")), *row[place + 1 :]]
        for row in rows
    ]
    return page.table(head, cells)


def _settings(run: LoggedRun) -> str:
    return page.details(f"{run.label}, as TOML", run.spec.to_toml())


def _machines(runs: Sequence[LoggedRun]) -> list[str]:
    """Each machine once, with the runs that were made there."""
    told: dict[str, list[str]] = {}
    for run in runs:
        facts = {name: value for name, value in run.machine.items() if name != "time"}
        told.setdefault(page.machine(facts), []).append(run.label)
    if len(told) == 1:
        return list(told)
    return [f"<h3>{escape(', '.join(labels))}</h3>{facts}" for facts, labels in told.items()]
