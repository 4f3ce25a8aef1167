"""A run in the terminal: what was asked, how it went, what it came to. And lists of runs."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import indent
from typing import TYPE_CHECKING, Any, TextIO

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from lockstep.report.quantities import duration, metric, metric_name, metrics_line, rate
from lockstep.report.tables import console, facts_table, table

if TYPE_CHECKING:
    from lockstep.training.directory import RunDirectory
    from lockstep.training.history import History
    from lockstep.training.result import Result

MOST_EPOCHS = 12  # that are shown of a run


def run_facts(history: History, status: str) -> list[tuple[str, str]]:
    """What a run came to: metrics, speed, and how its steps were carried out."""
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
    facts += [("ran as", note) for note in history.notes]
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
