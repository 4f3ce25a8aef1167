"""A comparison in the terminal: a row for each framework, the verdicts, the outcome."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from lockstep.report.quantities import deviation, duration, number, rate
from lockstep.report.tables import filled, show, table

if TYPE_CHECKING:
    from lockstep.comparison.rows import Comparison, Row
    from lockstep.comparison.verdict import Verdict


def print_comparison(comparison: Comparison, file: TextIO | None = None) -> None:
    """The table of frameworks, the verdict on each quantity, and the outcome in a sentence."""
    show(comparison_parts(comparison), file)


def comparison_parts(comparison: Comparison) -> Iterator[RenderableType]:
    """What is said of a comparison, from its name to where its page is."""
    spec = comparison.spec
    head = f"{spec.name}: {comparison.num_steps} steps, {spec.precision}, {spec.style}"
    yield Text(head, "bold")
    yield comparison_table(comparison.rows)
    judged = [row for row in comparison.others if row.verdicts]
    if judged:
        yield verdict_table(comparison, judged)
    for row in comparison.rows:
        if row.problem:
            yield Text(f"{row.label} {row.status}: {row.problem}", "yellow")
            yield from (Text(f"  | {line}", "dim") for line in row.log)
    mark, style = ("agree: ", "bold green") if comparison.agree else ("no: ", "bold red")
    yield Text(mark + comparison.verdict, style)
    if comparison.hint:
        yield Text(comparison.hint, "dim")
    yield f"report: {comparison.directory / 'report.html'}"


COLUMNS = (
    "framework", "last step's loss", "largest deviation", "first difference", "steps/s", "compile",
    "ran as",
)  # fmt: skip


def row_cells(row: Row) -> list[str]:
    """What a table says of a framework; the last column, how it ran, is the table's own."""
    return [
        row.label,
        number(row.final_loss),
        "-" if row.oracle else deviation(row.deviation),
        first_beyond(row),
        rate(row.rate.median) if row.rate else "",
        duration(row.compile_seconds),
    ]


def comparison_table(rows: Sequence[Row]) -> Table:
    """A row for each framework."""
    made = table(*COLUMNS, left=("framework", "ran as"))
    for row in rows:
        made.add_row(
            *row_cells(row),
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
    columns = ("relative deviation", "tolerance", *(row.label for row in rows))
    cells: list[list[str | Text]] = [
        [quantity, deviation(limit), *(_verdict_cell(row.verdict(quantity)) for row in rows)]
        for quantity, limit in comparison.tolerances.items()
    ]
    return filled(columns, cells, left=columns[:1])


def _verdict_cell(verdict: Verdict) -> Text:
    return Text(verdict_text(verdict), "" if verdict.agree else "red")
