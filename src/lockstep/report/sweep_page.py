"""The page of a sweep: the best setting first, then the chart, all settings, and the command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lockstep.files import write_whole
from lockstep.report import page
from lockstep.report.experiment_page import text_part
from lockstep.report.quantities import metric, metric_name
from lockstep.report.sweep_charts import sweep_chart
from lockstep.report.sweep_tables import setting_text, sweep_table
from lockstep.training.machine import machine_facts

if TYPE_CHECKING:
    from lockstep.sweeps.trials import Sweep


def sweep_page(sweep: Sweep, command: str = "") -> str:
    """The page as text."""
    spec, best, chart = sweep.run, sweep.best, sweep_chart(sweep)
    about = f"{len(sweep.rows)} settings in {spec.framework}, {spec.style}, {spec.precision}"
    if best is None:
        banner = page.banner("bad", "No setting came to its end.", "Try smaller learning rates.")
    else:
        value = metric(sweep.metric, sweep.value(best))
        found = f"{setting_text(best)}: {metric_name(sweep.metric)} {value}."
        banner = page.banner("good", "Best:", found)
    repeat = sweep.command(best) if best else ""
    return page.document(
        f"{spec.name}: a sweep",
        page.heading(f"{spec.name}: which setting is best?", about),
        banner,
        page.section("Chart", page.chart(chart, "sweep", chart.note)),
        page.section("Settings", text_part(sweep_table(sweep, list(sweep.rows)))),
        page.section("Repeat the best", page.code(repeat) if repeat else ""),
        page.section("What was asked of every run", page.asked(spec)),
        page.section("Machine", page.machine(machine_facts())),
        page.section("The command that made it", page.code(command) if command else ""),
    )


def write_sweep_page(sweep: Sweep, path: Path, command: str = "") -> Path:
    """Write the page as one file."""
    write_whole(path, sweep_page(sweep, command).encode())
    return path
