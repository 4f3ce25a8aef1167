"""The page of a run: how it ended, its curves, what was asked, where it ran."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lockstep.files import write_whole
from lockstep.report import page
from lockstep.report.run_figures import run_figure
from lockstep.report.run_tables import epoch_rows, run_facts

if TYPE_CHECKING:
    from lockstep.training.directory import RunDirectory
    from lockstep.training.history import History

KINDS = {"completed": "good", "diverged": "bad"}


def run_page(directory: RunDirectory, history: History) -> str:
    """The page as text."""
    spec, status = directory.spec, directory.status
    about = f"{spec.style}, {spec.precision}, batch size {spec.batch_size}, seed {spec.seed}"
    ended = f"after {len(history):,} steps"
    elsewhere = ("status", "ran as", "note")
    pairs = [pair for pair in run_facts(history, status) if pair[0] not in elsewhere]
    head, *rows = epoch_rows(history)
    caption = "Loss of every step, metrics of every epoch, and the learning rate."
    drawn = page.figure(lambda: run_figure(history, framework=spec.framework), "run", caption)
    return page.document(
        f"{spec.name} in {spec.framework}",
        page.heading(f"{spec.name} in {spec.framework}", about),
        page.banner(KINDS.get(status, "fair"), status, ended),
        page.section("Outcome", page.facts(pairs)),
        page.section("Curves", drawn if len(history) else ""),
        page.section("Epochs", page.table(head, rows) if rows else ""),
        page.section("How it ran", page.facts([("ran as", note) for note in history.notes])),
        page.section("Notes", page.facts([("note", text) for text in history.remarks])),
        page.section("What was asked", page.asked(spec)),
        page.section("Machine", page.machine(directory.machine)),
    )


def write_run_page(directory: RunDirectory, history: History) -> Path:
    """Write report.html into a run's directory."""
    path = directory.path / "report.html"
    write_whole(path, run_page(directory, history).encode())
    return path
