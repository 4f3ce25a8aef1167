"""How results and comparisons show themselves: what `result.plot()`, `comparison.show()` and their
other methods do. The objects are of rooms on the left, which do not import this one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from lockstep.report.compare_progress import (
    LiveCompareProgress,
    PlainCompareProgress,
    compare_progress,
)
from lockstep.report.comparison_charts import comparison_chart
from lockstep.report.comparison_page import write_comparison_page
from lockstep.report.comparison_tables import print_comparison as show_comparison
from lockstep.report.notebook_progress import NotebookProgress
from lockstep.report.notebook_work import NotebookCompareProgress, notebook_work
from lockstep.report.picture import ChartPicture, plotted
from lockstep.report.progress import LiveProgress, PlainProgress, run_progress, work_progress
from lockstep.report.run_charts import run_chart
from lockstep.report.run_tables import print_result as show_result
from lockstep.report.schedule_charts import schedule_chart
from lockstep.report.shown import (
    comparison_html,
    comparison_text,
    epochs_html,
    epochs_text,
    history_html,
    history_text,
    result_html,
    result_text,
    runs_html,
    runs_text,
    schedule_html,
    spec_html,
    spec_text,
    sweep_html,
    sweep_text,
)
from lockstep.report.sweep_charts import sweep_chart
from lockstep.report.sweep_tables import print_sweep as show_sweep
from lockstep.showing import in_kernel

if TYPE_CHECKING:
    from lockstep.comparison.rows import Comparison
    from lockstep.schedules import Schedule
    from lockstep.spec import RunSpec
    from lockstep.sweeps.trials import Sweep
    from lockstep.training.history import History
    from lockstep.training.result import Result

__all__ = [
    "compare_follower",
    "comparison_html",
    "comparison_text",
    "epochs_html",
    "epochs_text",
    "history_html",
    "history_text",
    "plot_comparison",
    "plot_history",
    "plot_result",
    "plot_schedule",
    "plot_sweep",
    "report_comparison",
    "result_html",
    "result_text",
    "run_follower",
    "runs_html",
    "runs_text",
    "schedule_html",
    "show_comparison",
    "show_result",
    "show_sweep",
    "spec_html",
    "spec_text",
    "sweep_html",
    "sweep_text",
    "work_follower",
]


def run_follower(
    spec: RunSpec,
) -> AbstractContextManager[NotebookProgress | LiveProgress | PlainProgress]:
    """A listener that shows a run's progress where this code runs, to be used with `with`."""
    return NotebookProgress(spec.name, spec.framework) if in_kernel() else run_progress()


def compare_follower(
    labels: Sequence[str],
) -> AbstractContextManager[NotebookCompareProgress | LiveCompareProgress | PlainCompareProgress]:
    """What shows the progress of a comparison, called with a row's label and its news."""
    return NotebookCompareProgress(labels) if in_kernel() else compare_progress(labels)


def work_follower(name: str) -> AbstractContextManager[Callable[[float, str], None]]:
    """What shows how far any long work is, called with the share that is done and what was last."""
    return notebook_work(name) if in_kernel() else work_progress(name, sys.stderr)


def plot_result(result: Result, path: str | Path | None = None) -> ChartPicture:
    """Loss, metrics and learning rate."""
    spec = result.spec
    title = f"{spec.name} in {spec.framework}"
    return plotted(run_chart(result.history, title, spec.framework), path)


def plot_history(history: History, path: str | Path | None = None) -> ChartPicture:
    """Loss, metrics and learning rate."""
    return plotted(run_chart(history), path)


def plot_comparison(comparison: Comparison, path: str | Path | None = None) -> ChartPicture:
    """Loss, deviation and loss against time."""
    return plotted(comparison_chart(comparison, comparison.spec.name), path)


def plot_sweep(sweep: Sweep, path: str | Path | None = None) -> ChartPicture:
    """The metric over the grid."""
    return plotted(sweep_chart(sweep), path)


def plot_schedule(
    schedule: Schedule, path: str | Path | None = None, steps: int | None = None
) -> ChartPicture:
    """The learning rate of every step."""
    return plotted(schedule_chart(schedule, steps), path)


def report_comparison(comparison: Comparison, path: str | Path) -> Path:
    """Write the page, with figures, as one HTML file."""
    return write_comparison_page(comparison, Path(path))
