"""How objects show themselves: as text beside `repr`, and in a notebook as HTML with a picture."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import RenderableType

from lockstep.errors import LockstepError
from lockstep.report import notebook_html as parts
from lockstep.report import page
from lockstep.report.charts import smoothed, smoothing_window
from lockstep.report.comparison_charts import comparison_chart
from lockstep.report.comparison_tables import COLUMNS, comparison_parts, row_cells
from lockstep.report.run_charts import run_chart
from lockstep.report.run_tables import (
    epoch_rows,
    history_facts,
    print_runs,
    result_title,
    run_facts,
    runs_cells,
)
from lockstep.report.schedule_charts import schedule_chart
from lockstep.report.sweep_charts import sweep_chart
from lockstep.report.sweep_tables import shown_rows, sweep_parts, sweep_summary, sweep_table
from lockstep.report.tables import TextTable, facts_table, filled, show
from lockstep.schedules import Schedule, format_schedule
from lockstep.training.directory import RunDirectory

if TYPE_CHECKING:
    from lockstep.comparison.rows import Comparison
    from lockstep.spec import RunSpec
    from lockstep.sweeps.trials import Sweep
    from lockstep.training.history import Epochs, History
    from lockstep.training.result import Result
    from lockstep.training.run_list import RunList

MOST_RUNS = 50  # that a notebook lists


def _text(shown: Iterable[RenderableType | TextTable]) -> str:
    out = io.StringIO()
    show(shown, out)
    return out.getvalue().rstrip("\n")


# --- runs -----------------------------------------------------------------------------------------


def result_text(result: Result) -> str:
    """What a run came to, and how it is continued if it was interrupted."""
    return _text([result_title(result), facts_table(_result_facts(result))])


def result_html(result: Result) -> str:
    """The same, with its curves."""
    history = result.history
    chart = run_chart(history, framework=result.spec.framework)
    return parts.block(
        parts.title(result_title(result)),
        parts.facts(_result_facts(result)),
        parts.charts(chart) if len(history) else "",
    )


def _result_facts(result: Result) -> list[tuple[str, str]]:
    facts = run_facts(result.history, result.status)
    if result.directory is not None:
        facts.append(("folder", str(result.directory)))
    if how := result.how_to_continue:
        facts.append(("to go on", how))
    return facts


def history_text(history: History) -> str:
    """How many steps and epochs, and the metrics of epochs."""
    head, *rows = epoch_rows(history.epochs)
    tables: list[RenderableType] = [facts_table(history_facts(history))]
    return _text([*tables, filled(head, rows)] if rows else tables)


def history_html(history: History) -> str:
    """The same, with its curves."""
    head, *rows = epoch_rows(history.epochs)
    return parts.block(
        parts.facts(history_facts(history)),
        parts.charts(run_chart(history)) if len(history) else "",
        page.table(head, rows) if rows else "",
    )


def epochs_text(epochs: Epochs[Any]) -> str:
    """The metrics of each."""
    head, *rows = epoch_rows(epochs)
    return _text([filled(head, rows), *_left_out(epochs, rows)] if rows else ["none"])


def epochs_html(epochs: Epochs[Any]) -> str:
    """The same as a table."""
    head, *rows = epoch_rows(epochs)
    said = map(parts.line, _left_out(epochs, rows) if rows else ["none"])
    return parts.block(page.table(head, rows) if rows else "", *said)


def _left_out(epochs: Epochs[Any], rows: list[list[str]]) -> list[str]:
    """How many are shown, if not all are."""
    count = f"{len(rows)} of {len(epochs):,}; to_pandas() has all"
    return [count] if len(rows) < len(epochs) else []


# --- several runs ---------------------------------------------------------------------------------


def comparison_text(comparison: Comparison) -> str:
    """The table of frameworks, the verdicts and the outcome."""
    return _text(comparison_parts(comparison))


def comparison_html(comparison: Comparison) -> str:
    """The outcome, a row for each framework, and the curves over each other."""
    spec = comparison.spec
    rows: list[list[page.Cell]] = [
        [
            *row_cells(row),
            ("; ".join(row.notes) if row.ended else f"{row.status}: {row.problem}", "text"),
        ]
        for row in comparison.rows
    ]
    word = "agree" if comparison.agree else "no"
    return parts.block(
        parts.title(f"{spec.name}: {comparison.num_steps} steps, {spec.precision}, {spec.style}"),
        parts.line(f"{word}: {comparison.verdict}"),
        parts.line(comparison.hint),
        page.table(COLUMNS, rows),
        parts.charts(comparison_chart(comparison)),
        parts.line(f"report: {comparison.directory / 'report.html'}"),
    )


def sweep_text(sweep: Sweep) -> str:
    """The table of settings, the best one, and the command that repeats it."""
    return _text(sweep_parts(sweep))


def sweep_html(sweep: Sweep) -> str:
    """The best setting, the metric over the grid, and the table of settings."""
    table = sweep_table(sweep, shown_rows(sweep))
    return parts.block(
        parts.title(sweep_chart(sweep).title),
        *(parts.line(text) for text in sweep_summary(sweep)),
        parts.charts(sweep_chart(sweep)),
        page.table(table.columns, table.rows),
    )


def runs_text(runs: RunList) -> str:
    """The runs below a folder, a row each."""
    out = io.StringIO()
    print_runs(runs.rows, str(runs.root), out)
    return out.getvalue().rstrip("\n")


def runs_html(runs: RunList) -> str:
    """The same, with the loss of each; of very many, the newest."""
    head, cells = runs_cells(runs.rows[-MOST_RUNS:])
    losses = [_losses(path) for path in runs.paths[-MOST_RUNS:]]
    count = f"{len(runs):,} runs in {runs.root}/" if len(runs) else f"no runs in {runs.root}/"
    older = f", the newest {MOST_RUNS}" if len(runs) > MOST_RUNS else ""
    return parts.block(parts.title(count, older), parts.table(head, cells, losses))


def _losses(path: Path) -> np.ndarray:
    """The loss of every step, smoothed; nothing of a run that cannot be read."""
    try:
        loss = RunDirectory(path).history()[:, "loss"]
    except LockstepError:
        return np.empty(0)
    return smoothed(loss, smoothing_window(loss))[1]


# --- what is asked --------------------------------------------------------------------------------


def spec_text(spec: RunSpec) -> str:
    """What is asked, in outline."""
    told = [*_asked(spec), ("all of it", "to_toml()")]
    return _text([f"{spec.name} {_where(spec)}", facts_table(told)])


def spec_html(spec: RunSpec) -> str:
    """The same and, folded away, in full."""
    return parts.block(
        parts.title(spec.name, _where(spec)),
        parts.facts(_asked(spec)),
        parts.folded("all of it, as TOML", spec.to_toml()),
    )


def _where(spec: RunSpec) -> str:
    return f"in {spec.framework}, {spec.style}, {spec.precision}"


def _asked(spec: RunSpec) -> list[tuple[str, str]]:
    pairs = [*page.asked_pairs(spec), ("epochs", spec.epochs)]
    return [(name, str(value)) for name, value in pairs]


def schedule_html(schedule: Schedule) -> str:
    """The learning rate of every step, the schedule as text, and its formula."""
    return parts.block(
        parts.title(format_schedule(schedule)),
        parts.charts(schedule_chart(schedule)),
        parts.line(schedule.formula),
    )
