"""Tables of runs and comparisons, by rich on a terminal and plain where piped."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from textwrap import indent
from typing import TYPE_CHECKING, Any, TextIO

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from lockstep.report.numbers import (
    deviation,
    duration,
    metric,
    metric_name,
    metrics_line,
    number,
    rate,
)
from lockstep.report.progress import is_live

if TYPE_CHECKING:
    from lockstep.comparison.result import Comparison, Row
    from lockstep.comparison.verdict import Verdict
    from lockstep.training.directory import RunDirectory
    from lockstep.training.history import History
    from lockstep.training.result import Result

PIPED_WIDTH = 160  # a pipe has no edge at which to fold
MOST_EPOCHS = 12  # that are shown of a run


def console(file: TextIO | None = None) -> Console:
    """A console on stdout; without colour, and wide, where that is not a terminal."""
    file = file or sys.stdout
    if is_live(file):
        return Console(file=file, highlight=False, no_color="NO_COLOR" in os.environ or None)
    asked = os.environ.get("COLUMNS", "")
    width = max(PIPED_WIDTH, int(asked) if re.fullmatch("[0-9]{1,5}", asked) else 0)
    return Console(file=file, highlight=False, force_terminal=False, color_system=None, width=width)


def table(*columns: str, left: Sequence[str] = ()) -> Table:
    """An empty table in the house style; columns hold numbers unless named in `left`."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for name in columns:
        made.add_column(name, justify="left" if name in left else "right", overflow="fold")
    made.columns[0].no_wrap = True
    return made


def facts_table(facts: Sequence[tuple[str, str]]) -> Table:
    """Names and values, side by side."""
    made = Table(box=None, show_header=False, pad_edge=False)
    made.add_column(style="dim")
    made.add_column(overflow="fold")
    for name, value in facts:
        made.add_row(name, escape(value))
    return made


# --- runs -----------------------------------------------------------------------------------------


def run_facts(history: History, status: str) -> list[tuple[str, str]]:
    """What a run came to: metrics, speed, and the path it took."""
    rates = sorted(history.step_rates()) if len(history) else []
    facts = [("status", status), ("steps", f"{len(history):,}")]
    if len(history.frameworks) > 1:
        facts.append(("frameworks", frameworks_line(history.frameworks, len(history))))
    facts += [(metric_name(name), metric(name, value)) for name, value in history.metrics.items()]
    if rates:
        speed = f"{rate(rates[len(rates) // 2])} steps/s"
        facts.append(("speed", f"{speed} ({rate(rates[0])} to {rate(rates[-1])})"))
        facts.append(("time", f"{duration(history.seconds)} in steps"))
        facts.append(("compile", duration(history.compile_seconds)))
    facts += [("path", note) for note in history.notes]
    facts += [("note", text) for text in history.remarks]
    return facts + [("damage", line) for line in history.damage]


def frameworks_line(parts: Sequence[tuple[str, int]], num_steps: int) -> str:
    """Which framework carried a run out to which step; `parts` say from which step each did.

    >>> frameworks_line([("torch", 0), ("paddle", 80)], 160)
    'torch to step 80, paddle to step 160'
    """
    ends = [*(step for _, step in parts[1:]), num_steps]
    return ", ".join(f"{n} to step {end:,}" for (n, _), end in zip(parts, ends, strict=True))


def print_result(result: Result, file: TextIO | None = None) -> None:
    """What a run came to, after it ended."""
    spec, out = result.spec, console(file)
    out.print(Text(f"{spec.name} in {spec.framework}, {spec.style}, {spec.precision}", "bold"))
    if not result.ran:
        more = "it was completed already. Give it more to do with --epochs N."
        out.print(f"nothing was run: {more}", soft_wrap=True)
    facts = run_facts(result.history, result.status)
    if result.directory is not None:
        facts.append(("folder", str(result.directory)))
    out.print(facts_table(facts))


def print_run(directory: RunDirectory, history: History, file: TextIO | None = None) -> None:
    """What a run directory holds: what was asked, how it went, its last epochs."""
    spec, out = directory.spec, console(file)
    out.print(Text(directory.path.name, "bold"))
    out.print(Text(indent(spec.to_toml().strip(), "  "), "dim"))
    facts = run_facts(history, directory.status)
    if (step := directory.saved_step) is not None:
        facts.insert(1, ("saved", f"the state after {step:,} steps"))
    out.print(facts_table(facts))
    if history.epochs:
        out.print(epoch_table(history))


def epoch_table(history: History) -> Table:
    """The metrics of some epochs."""
    head, *rows = epoch_rows(history)
    made = table(*head)
    for row in rows:
        made.add_row(*row)
    return made


def epoch_rows(history: History) -> list[list[str]]:
    """The metrics of epochs, evenly chosen, the last among them: a row each, below the head."""
    every = max(1, -(-len(history.epochs) // MOST_EPOCHS))
    chosen = history.epochs[::-1][::every][::-1]
    names = list(dict.fromkeys(name for event in chosen for name in event.metrics))
    rows = [
        [str(e.epoch + 1), f"{e.step:,}"]
        + [metric(n, e.metrics[n]) if n in e.metrics else "" for n in names]
        for e in chosen
    ]
    return [["epoch", "step", *map(metric_name, names)], *rows]


def print_runs(rows: Sequence[dict[str, Any]], root: str, file: TextIO | None = None) -> None:
    """The runs below a folder."""
    out = console(file)
    if not rows:
        out.print(f"no runs in {escape(str(root))}/", soft_wrap=True)
        return
    left = ("run", "framework", "style", "status", "metrics")
    made = table("run", "framework", "style", "status", "steps", "metrics", left=left)
    for row in rows:
        parts = row.get("frameworks", [])
        several = frameworks_line(parts, row["steps"]) if len(parts) > 1 else ""
        framework = several or row["framework"]
        cells = [escape(str(t)) for t in (row["run"], framework, row["style"], row["status"])]
        made.add_row(*cells, f"{row['steps']:,}", metrics_line(row["metrics"]))
    out.print(made)


def print_diff(rows: Sequence[tuple[str, object, object]], file: TextIO | None = None) -> None:
    """The fields in which two specs differ."""
    out = console(file)
    if not rows:
        out.print("the same in every field")
        return
    made = table("field", "one", "other", left=("field", "one", "other"))
    for name, one, other in rows:
        made.add_row(escape(name), escape(repr(one)), escape(repr(other)))
    out.print(made)


# --- comparisons ----------------------------------------------------------------------------------


def print_comparison(comparison: Comparison, file: TextIO | None = None) -> None:
    """The table of frameworks, the verdict on each quantity, and the outcome in a sentence."""
    out, spec = console(file), comparison.spec
    about = f"{spec.name}: {comparison.num_steps} steps, {spec.precision}, {spec.style}"
    out.print(Text(about, "bold"))
    out.print(comparison_table(comparison.rows))
    judged = [row for row in comparison.others if row.verdicts]
    if judged:
        out.print(verdict_table(comparison, judged))
    for row in comparison.rows:
        if row.problem:
            out.print(Text(f"{row.label} {row.status}: {row.problem}", "yellow"))
            for line in row.log:
                out.print(Text(f"  | {line}", "dim"), soft_wrap=True)
    mark, style = ("agree: ", "bold green") if comparison.agree else ("no: ", "bold red")
    out.print(Text(mark + comparison.verdict, style), soft_wrap=True)
    if comparison.hint:
        out.print(Text(comparison.hint, "dim"), soft_wrap=True)
    out.print(f"report: {escape(str(comparison.directory / 'report.html'))}", soft_wrap=True)


def comparison_table(rows: Sequence[Row]) -> Table:
    """A row for each framework."""
    left = ("framework", "path")
    made = table(
        "framework", "last step's loss", "largest deviation", "first step beyond", "steps/s",
        "compile", "path", left=left,
    )  # fmt: skip
    for row in rows:
        made.add_row(
            row.label,
            number(row.final_loss),
            "-" if row.oracle else deviation(row.deviation),
            first_beyond(row),
            rate(row.rate.median) if row.rate else "",
            duration(row.compile_seconds),
            "; ".join(row.notes) if row.ended else Text(row.status, "yellow"),
            style="" if row.agree else "red" if row.verdicts else "yellow",
        )
    return made


def first_beyond(row: Row) -> str:
    """The first step beyond tolerance: "none", or the step and the quantity."""
    if row.oracle:
        return "-"
    if not row.verdicts:
        return "not judged"
    first = row.first_difference
    return "none" if first is None else f"{first.step} ({first.quantity})"


def verdict_text(verdict: Verdict) -> str:
    """The largest deviation and, where that is too large, the first step or the array."""
    text = deviation(verdict.largest)
    if verdict.agree:
        return text
    where = f"in {verdict.where}" if "parameters" in verdict.quantity else ""
    return f"{text} {where or f'from step {verdict.step}'}"


def verdict_table(comparison: Comparison, rows: Sequence[Row]) -> Table:
    """A row for each quantity: its tolerance, and the largest deviation of each framework."""
    names = [row.label for row in rows]
    made = table("relative deviation", "tolerance", *names, left=("relative deviation",))
    for quantity, limit in comparison.tolerances.items():
        cells = []
        for row in rows:
            verdict = row.verdict(quantity)
            cells.append(Text(verdict_text(verdict), "" if verdict.agree else "red"))
        made.add_row(quantity, deviation(limit), *cells)
    return made
