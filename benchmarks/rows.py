"""A row of the benchmarks: one claim, its figure, its bound, and how it is printed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from benchmarks.rounds import Timing
from lockstep.training.machine import machine_facts

WIDTH = 78  # of the longest claim


@dataclass(frozen=True)
class Row:
    """One claim: what was measured, the figure, and its bound, if there is one."""

    claim: str
    figure: float
    unit: str
    bound: float | None
    at_least: bool
    detail: str

    @property
    def verdict(self) -> str:
        if self.bound is None:
            return "measured"
        sign = ">=" if self.at_least else "<="
        return f"({sign} {self.bound:g}) {'kept' if self.kept else 'MISSED'}"

    @property
    def kept(self) -> bool:
        """Whether it is within its bound; a figure that could not be measured (nan) is not."""
        if self.bound is None:
            return True
        return self.figure >= self.bound if self.at_least else self.figure <= self.bound

    @property
    def measured(self) -> bool:
        return not math.isnan(self.figure)

    def text(self) -> str:
        if not self.measured:
            return f"{self.claim:<{WIDTH}}  {self.detail}"
        figure = f"{self.figure:8.3g} {self.unit:<5} {self.verdict:<15}"
        return f"{self.claim:<{WIDTH}}  {figure} {self.detail}"


def ratio_row(claim: str, slow: Timing, fast: Timing, bound: float | None) -> Row:
    """How many times as fast `fast` is."""
    detail = f"{milliseconds(slow)} / {milliseconds(fast)}"
    return Row(claim, slow.median / fast.median, "times", bound, True, detail)


def milliseconds(t: Timing) -> str:
    return f"{t.median * 1e3:.3g} ms [{t.low * 1e3:.3g}, {t.high * 1e3:.3g}]"


def not_measured(claim: str, reason: object) -> Row:
    """A claim that could not be looked into, which is not kept then."""
    return Row(claim, math.nan, "", 0.0, True, f"not measured: {reason}")


def show(rows: Iterable[Row], as_json: bool) -> int:
    """Print each row as soon as it is there, or all as JSON with the machine; the exit code."""
    facts, found = machine_facts(), []
    if not as_json:
        print(
            f"{facts['processor']}, {facts['cores']} cores, Python {facts['python']}\n", flush=True
        )
    for row in rows:
        found.append(row)
        if not as_json:
            print(row.text(), flush=True)
    if as_json:  # which knows no nan
        values = [asdict(row) | {"figure": row.figure if row.measured else None} for row in found]
        print(json.dumps({"machine": facts, "rows": values}))
    return 0 if all(row.kept for row in found) else 1
