"""A run in the terminal: what was asked, how it went, what it came to. And lists of runs."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import indent
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import RenderableType
from rich.text import Text

from lockstep.report.progress import said_stopped
from lockstep.report.quantities import (
    duration,
    lr,
    metric,
    metric_name,
    metrics_line,
    number,
    rate,
)
from lockstep.report.tables import facts_table, filled, show

if TYPE_CHECKING:
    from lockstep.training.directory import RunDirectory
    from lockstep.training.history import Epochs, History
    from lockstep.training.result import Result

MOST_EPOCHS = 12  # that are shown of a run


def run_facts(history: History, status: str) -> list[tuple[str, str]]:
    """What a run came to: metrics, speed, and how its steps were carried out."""
    rates = sorted(history.step_rates()) if len(history) else []
    facts = [("status", status), ("steps", f"{len(history):,}")]
    if len(history.frameworks) > 1:
        facts.append(("frameworks", frameworks_line(history.frameworks, len(history))))
    facts += _best_facts(history)
    facts += [(metric_name(name), metric(name, value)) for name, value in history.metrics.items()]
    if rates:
        speed = f"{rate(rates[len(rates) // 2])} steps/s"
        facts.append(("speed", f"{speed} ({rate(rates[0])} to {rate(rates[-1])})"))
        facts.append(("time", f"{duration(history.seconds)} in steps"))
        facts.append(("compile", duration(history.compile_seconds)))
    facts += [("ran as", note) for note in history.notes]
    facts += [("note", text) for text in history.remarks]
    return facts + [("damage", line) for line in history.damage]


def _best_facts(history: History) -> list[tuple[str, str]]:
    """Which step the run's weights are of, and why it ended before its last."""
    facts = []
    if history.stopped is not None:
        facts.append(("stopped early", said_stopped(history.stopped)))
    if history.bests:
        best = history.bests[-1]
        value = f"{metric_name(best.metric)} {metric(best.metric, best.value)}"
        facts.append(("best weights", f"those after {best.step:,} steps: {value}"))
    return facts


def frameworks_line(parts: Sequence[tuple[str, int]], num_steps: int) -> str:
    """Which framework carried a run out to which step; `parts` say from which step each did.

    >>> frameworks_line([("torch", 0), ("paddle", 80)], 160)
    'torch to step 80, paddle to step 160'
    """
    ends = [*(step for _, step in parts[1:]), num_steps]
    return ", ".join(f"{n} to step {end:,}" for (n, _), end in zip(parts, ends, strict=True))


def print_result(result: Result, file: TextIO | None = None) -> None:
    """What a run came to, after it ended."""
    parts: list[RenderableType] = [Text(result_title(result), "bold")]
    if not result.ran and result.status == "completed":
        more = "--epochs N" if result.history.stopped is None else "--patience N or --epochs N"
        parts.append(f"nothing was run: it was completed already. Give it more to do with {more}.")
    facts = run_facts(result.history, result.status)
    if result.directory is not None:
        facts.append(("folder", str(result.directory)))
    show([*parts, facts_table(facts)], file)


def result_title(result: Result) -> str:
    """Which run it was."""
    spec = result.spec
    return f"{spec.name} in {spec.framework}, {spec.style}, {spec.precision}"


def history_facts(history: History) -> list[tuple[str, str]]:
    """How long it is, and from where to where loss and learning rate went."""
    facts = [("steps", f"{len(history):,}"), ("epochs", f"{len(history.epochs):,}")]
    if len(history):
        first, last = (history[at, "loss"] for at in (0, -1))
        facts.append(
            ("loss of a step", f"{number(first)} at the first, {number(last)} at the last")
        )
        facts.append(("learning rate", f"{lr(history[0, 'lr'])} to {lr(history[-1, 'lr'])}"))
        facts.append(("time", f"{duration(history.seconds)} in steps"))
    return facts


def print_run(directory: RunDirectory, history: History, file: TextIO | None = None) -> None:
    """What a run directory holds: what was asked, how it went, its last epochs."""
    facts = run_facts(history, directory.status)
    if (step := directory.saved_step) is not None:
        facts.insert(1, ("saved", f"the state after {step:,} steps"))
    if (count := directory.num_parameters) is not None:
        facts.append(("parameters", f"{count:,}"))
    head, *rows = epoch_rows(history.epochs)
    parts: list[RenderableType] = [
        Text(directory.path.name, "bold"),
        Text(indent(directory.spec.to_toml().strip(), "  "), "dim"),
        facts_table(facts),
        filled(head, rows),
    ]
    show(parts if history.epochs else parts[:-1], file)


def epoch_rows(epochs: Epochs[Any]) -> list[list[str]]:
    """The metrics of epochs, evenly chosen, the last among them: a row each, below the head."""
    every = max(1, -(-len(epochs) // MOST_EPOCHS))
    chosen = epochs[::-1][::every][::-1]
    names = list(dict.fromkeys(name for event in chosen for name in event.metrics))
    rows = [
        [str(e.epoch + 1), f"{e.step:,}"]
        + [metric(n, e.metrics[n]) if n in e.metrics else "" for n in names]
        for e in chosen
    ]
    return [["epoch", "step", *map(metric_name, names)], *rows]


def print_runs(rows: Sequence[dict[str, Any]], root: str, file: TextIO | None = None) -> None:
    """The runs below a folder."""
    columns, cells = runs_cells(rows)
    left = [name for name in columns if name != "steps"]
    show([filled(columns, cells, left=left) if rows else f"no runs in {root}/"], file)


def runs_cells(rows: Sequence[dict[str, Any]]) -> tuple[Sequence[str], list[Sequence[str]]]:
    """The head, and a row for each run."""
    columns = ("run", "framework", "style", "status", "steps", "metrics")
    cells: list[Sequence[str]] = []
    for row in rows:
        parts = row.get("frameworks", [])
        several = frameworks_line(parts, row["steps"]) if len(parts) > 1 else ""
        names = (row["run"], several or row["framework"], row["style"], row["status"])
        cells.append((*map(str, names), f"{row['steps']:,}", metrics_line(row["metrics"])))
    return columns, cells


def print_diff(rows: Sequence[tuple[str, object, object]], file: TextIO | None = None) -> None:
    """The fields in which two specs differ."""
    columns = ("field", "one", "other")
    cells = [(name, repr(one), repr(other)) for name, one, other in rows]
    show([filled(columns, cells, left=columns) if rows else "the same in every field"], file)
