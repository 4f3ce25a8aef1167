"""The page of a run: how it ended, its curves, what it learned, what was asked, where it ran."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lockstep.files import write_whole
from lockstep.report import page
from lockstep.report.curves import note, read_run
from lockstep.report.explained import explained
from lockstep.report.learned import learned
from lockstep.report.quantities import lr, number
from lockstep.report.run_charts import run_chart
from lockstep.report.run_tables import epoch_rows, run_facts
from lockstep.training.events import RunDiverged

if TYPE_CHECKING:
    from lockstep.training.directory import RunDirectory
    from lockstep.training.history import History

KINDS = {"completed": "good", "diverged": "bad"}


def run_page(directory: RunDirectory, history: History) -> str:
    """The page as text."""
    spec, status = directory.spec, directory.status
    devices = "1 device" if spec.devices == 1 else f"{spec.devices} devices"
    about = (
        f"{spec.style}, {spec.precision}, batch size {spec.batch_size}, {devices}, seed {spec.seed}"
    )
    count = directory.num_parameters
    model = [] if count is None else [("parameters", f"{count:,}")]
    elsewhere = ("status", "ran as", "note")
    pairs = [pair for pair in run_facts(history, status) if pair[0] not in elsewhere]
    head, *rows = epoch_rows(history.epochs)
    caption = "Loss of every step, metrics of every epoch, the learning rate, and loss against time"
    said = note([read_run(directory)])
    chart = run_chart(history, framework=spec.framework, said=said, timed=True)
    metrics = ["loss", *dict.fromkeys(name for e in history.epochs for name in e.metrics)]
    return page.document(
        f"{spec.name} in {spec.framework}",
        page.heading(f"{spec.name} in {spec.framework}", about),
        page.banner(KINDS.get(status, "fair"), status, how_it_ended(directory, history)),
        page.section("Outcome", page.facts([*pairs, *model, ("devices", spec.devices)])),
        page.section("Curves", page.chart(chart, "run", f"{caption}.") if len(history) else ""),
        page.section("What it learned", learned(directory, history)),
        page.section("Epochs", page.table(head, rows) if rows else ""),
        page.section("How it ran", page.facts([("ran as", note) for note in history.notes])),
        page.section("Notes", page.facts([("note", text) for text in history.remarks])),
        page.section("What was asked", page.asked(spec)),
        page.section("Machine", page.machine(directory.machine)),
        page.section("Names", explained("seconds in steps", "ran as", metrics=metrics)),
    )


def how_it_ended(directory: RunDirectory, history: History) -> str:
    """After how many steps and, if the loss was no longer finite, at which step with which rate."""
    ended = f"after {len(history):,} steps"
    if directory.status == "diverged":
        for event in directory.events([]):
            if isinstance(event, RunDiverged):
                ended = (
                    f"at step {event.step:,}: the loss was {number(event.loss)} after an update "
                    f"with the learning rate {lr(event.lr)}. The state after {event.kept:,} steps "
                    "is saved. Try a smaller rate, or a warm-up."
                )
    elif directory.status == "unfinished":
        ended += f". Continue it with: lockstep resume {directory.path}"
    return ended


def write_run_page(directory: RunDirectory, history: History) -> Path:
    """Write report.html into a run's directory."""
    path = directory.path / "report.html"
    write_whole(path, run_page(directory, history).encode())
    return path
