"""The page of a comparison: the verdict first, then the table, the figures and the facts."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from lockstep.files import write_whole
from lockstep.report import page
from lockstep.report.comparison_charts import comparison_chart
from lockstep.report.comparison_tables import first_beyond, verdict_text
from lockstep.report.explained import explained
from lockstep.report.page import Cell
from lockstep.report.quantities import deviation, duration, metric, metric_name, number, rate

if TYPE_CHECKING:
    from lockstep.comparison.rows import Comparison, Row

HEAD = (
    "framework", "last step's loss", "largest deviation", "first difference", "steps/s", "spread",
    "compile", "ran as",
)  # fmt: skip


def write_comparison_page(comparison: Comparison, path: Path) -> Path:
    """Write the page as one file."""
    write_whole(path, comparison_page(comparison).encode())
    return path


def comparison_page(comparison: Comparison) -> str:
    """The page as text."""
    spec = comparison.spec
    about = (
        f"{comparison.num_steps} steps, batch size {spec.batch_size}, {spec.precision}, "
        f"{spec.style}, {_devices(comparison)}, seed {spec.seed}"
    )
    kind, answer = ("good", "They agree.") if comparison.agree else ("bad", "No.")
    return page.document(
        f"{spec.name}: do the frameworks agree?",
        page.heading(spec.name, about),
        page.banner(kind, answer, f"{_verdict(comparison)}.{_failures(comparison)}"),
        page.section(
            "Frameworks",
            page.table(HEAD, [_row(row) for row in comparison.rows]),
            _problems(comparison),
        ),
        page.section("Verdicts", _explained(comparison), _verdicts(comparison)),
        page.section("Figures", _figures(comparison)),
        page.section("Metrics", _metrics(comparison)),
        page.section("What was asked", page.asked(spec)),
        page.section(
            "Machine and versions", page.machine(comparison.machine), _versions(comparison)
        ),
        page.section("Names", _names(comparison)),
    )


def _verdict(comparison: Comparison) -> str:
    said = comparison.verdict
    return said[:1].upper() + said[1:] if not comparison.agree else said


def _failures(comparison: Comparison) -> str:
    """Why rows came to no end, by name: the page's first line says it."""
    said = [f" {row.label} {row.status}: {row.problem}" for row in comparison.rows if row.problem]
    return "".join(text if text.endswith(".") else f"{text}." for text in said)


def _devices(comparison: Comparison) -> str:
    counts = sorted({row.devices for row in comparison.others}) or [1]
    return f"{', '.join(map(str, counts))} device{'s' if counts != [1] else ''}"


def _names(comparison: Comparison) -> str:
    metrics = ["loss", *dict.fromkeys(name for row in comparison.rows for name in row.metrics)]
    names = ("oracle", "deviation", "first difference", "tolerance", "seconds in steps", "ran as")
    return explained(*names, metrics=metrics)


def _row(row: Row) -> list[Cell]:
    kind = "" if row.oracle else "good" if row.agree else "bad" if row.verdicts else "fair"
    spread = f"{rate(row.rate.low)} to {rate(row.rate.high)}" if row.rate else ""
    return [
        row.label,
        number(row.final_loss),
        "" if row.oracle else deviation(row.deviation),
        ("" if row.oracle else first_beyond(row), kind),
        rate(row.rate.median) if row.rate else "",
        spread,
        duration(row.compile_seconds),
        ("; ".join(row.notes) if row.ended else row.status, "text"),
    ]


def _problems(comparison: Comparison) -> str:
    """What went wrong in rows that came to no end, in the worker's own words."""
    parts = []
    for row in comparison.rows:
        if row.problem:
            parts.append(page.facts([(f"{row.label} {row.status}", row.problem)]))
        if row.log:
            parts.append(page.details(f"last lines of {row.label}", "\n".join(row.log)))
    return "\n".join(parts)


def _explained(comparison: Comparison) -> str:
    text = (
        "The oracle is NumPy in float64. Deviations are relative to its value at the same step; "
        "parameters are compared at the end, by the largest entry of each array."
    )
    if comparison.before is not None and comparison.after is not None:
        text += (
            f" On the same first batches its loss went from {number(comparison.before)} to "
            f"{number(comparison.after)}, so "
        )
        text += "agreement means something." if comparison.moved else "agreement proves nothing."
    if comparison.hint:
        text += f" {comparison.hint[:1].upper()}{comparison.hint[1:]}."
    return f"<p>{escape(text)}</p>"


def _verdicts(comparison: Comparison) -> str:
    judged = [row for row in comparison.others if row.verdicts]
    rows: list[list[Cell]] = []
    for quantity, limit in comparison.tolerances.items():
        cells: list[Cell] = [quantity, deviation(limit)]
        for row in judged:
            verdict = row.verdict(quantity)
            cells.append((verdict_text(verdict), "good" if verdict.agree else "bad"))
        rows.append(cells)
    return page.table(["quantity", "tolerance", *(row.label for row in judged)], rows)


def _figures(comparison: Comparison) -> str:
    if not comparison.num_steps:
        return ""
    caption = (
        "Loss of every step: where the frameworks agree, the curves lie on each other. Deviation: "
        "how far each framework's loss is from the oracle's, every step as a dot, the largest so "
        "far as a line; a vertical line marks the first step at which a framework differs. Time is "
        "that spent in steps; compilation and evaluation are left out."
    )
    return page.chart(comparison_chart(comparison, wide=True), "comparison", caption)


def _metrics(comparison: Comparison) -> str:
    rows = [row for row in comparison.rows if row.metrics]
    names = list(dict.fromkeys(name for row in rows for name in row.metrics))
    cells: list[list[Cell]] = [
        [row.label, *(metric(n, row.metrics[n]) if n in row.metrics else "" for n in names)]
        for row in rows
    ]
    return page.table(["framework", *(metric_name(name) for name in names)], cells) if names else ""


def _versions(comparison: Comparison) -> str:
    head = ["framework", "version", "precision", "style", "status", "run"]
    rows: list[list[Cell]] = [
        [r.label, r.version, r.precision, r.style, r.status, (Path(r.directory).name, "text")]
        for r in comparison.rows
    ]
    return page.table(head, rows)
