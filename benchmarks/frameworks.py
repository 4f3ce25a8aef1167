"""Every framework on three recipes: `python -m benchmarks.frameworks`.

Prints Markdown tables: steps/s, compile time, peak memory of the process, and the largest relative
deviation of the loss from the oracle. Each framework runs alone, in its own interpreter.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.contenders import source
from lockstep import recipes
from lockstep.comparison import Comparison, Row, compare
from lockstep.frameworks import registry
from lockstep.report.compare_progress import compare_progress
from lockstep.report.quantities import deviation, duration, rate
from lockstep.spec import RunSpec

HEAD = "| framework | version | steps/s | compile | peak memory | largest deviation | path |"


def runs() -> dict[str, tuple[RunSpec, int]]:
    """What is compared, and for how many steps. LeNet's rate is small because of near-ties in
    float32: docs/conventions.md."""
    fields = {"evaluate": ()}
    gru = recipes.timemachine_gru().with_fields(fields | {"data.source": source("timemachine")})
    lenet = recipes.fashion_lenet().with_fields(fields | {"data.source": source("fashion-mnist")})
    return {
        "airfoil-linear, b=10, float64": (recipes.airfoil_linear(precision="float64"), 200),
        "timemachine-gru, H=256, float32": (gru, 100),
        "fashion-lenet, b=256, lr 0.02, float32": (lenet.with_lr(0.02), 50),
    }


def row_text(row: Row) -> str:
    if not row.ended:
        return f"| {row.label} | | | | | {row.status} | {row.problem} |"
    memory = f"{row.peak_memory / 2**20:,.0f} MiB" if row.peak_memory else "-"
    apart = "-" if row.oracle else deviation(row.deviation)
    cells = [row.label, row.version, rate(row.rate.median if row.rate else None)]
    cells += [duration(row.compile_seconds or 0.0), memory, apart, ", ".join(row.notes)]
    return f"| {' | '.join(cells)} |"


def table(title: str, found: Comparison) -> str:
    lines = [f"### {title}: {found.num_steps} steps, {found.verdict}", "", HEAD, "|" + "---|" * 7]
    return "\n".join([*lines, *(row_text(row) for row in found.rows), ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frameworks", default=",".join(registry.names()), metavar="A,B")
    names = parser.parse_args().frameworks.split(",")
    with tempfile.TemporaryDirectory(prefix="lockstep-") as folder:
        for number, (title, (spec, steps)) in enumerate(runs().items()):
            with compare_progress() as progress:
                out = Path(folder) / str(number)
                found = compare(spec, frameworks=names, steps=steps, out=out, progress=progress)
            print(table(title, found), flush=True)


if __name__ == "__main__":
    main()
