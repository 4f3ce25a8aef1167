"""A comparison in the terminal: a row for each framework, the verdicts, the outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from lockstep.report.quantities import deviation, duration, number, rate
from lockstep.report.tables import console, table

if TYPE_CHECKING:
    from lockstep.comparison.result import Comparison, Row
    from lockstep.comparison.verdict import Verdict


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
    left = ("framework", "ran as")
    made = table(
        "framework", "last step's loss", "largest deviation", "first difference", "steps/s",
        "compile", "ran as", left=left,
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
