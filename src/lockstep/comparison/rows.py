"""What a comparison found: rows, verdicts, and how to show, save and report them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lockstep.comparison.verdict import Verdict, first_difference
from lockstep.files import json_safe
from lockstep.showing import Picture, ShowsItself, present
from lockstep.spec import RunSpec


@dataclass(frozen=True)
class Rate:
    """Steps per second over the calls of a run: the median, and the quartiles as its spread."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, rates: np.ndarray) -> Rate | None:
        """
        >>> Rate.of(np.array([1.0, 2.0, 4.0]))
        Rate(median=2.0, low=1.5, high=3.0)
        """
        if not len(rates):
            return None
        low, median, high = np.percentile(rates, [25, 50, 75])
        return cls(float(median), float(low), float(high))


@dataclass(frozen=True)
class Curve:
    """What a row's run did at every step, for figures."""

    loss: np.ndarray = field(default_factory=lambda: np.array([]))
    seconds: np.ndarray = field(default_factory=lambda: np.array([]))  # until the step was done
    deviation: np.ndarray = field(default_factory=lambda: np.array([]))  # of the loss


def row_label(framework: str, devices: int) -> str:
    """
    >>> row_label("torch", 1), row_label("torch", 2)
    ('torch', 'torch on 2 devices')
    """
    return framework if devices == 1 else f"{framework} on {devices} devices"


@dataclass(frozen=True)
class Row:
    """One run. `status`: completed, diverged, missing, failed, crashed or timed out.

    `problem` says what went wrong and what to do; `log` holds the last lines that the worker
    printed. The oracle's own row has no verdicts.
    """

    framework: str
    version: str
    precision: str
    style: str
    status: str
    devices: int = 1
    oracle: bool = False
    verdicts: tuple[Verdict, ...] = ()
    final_loss: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    rate: Rate | None = None
    compile_seconds: float | None = None
    peak_memory: int | None = None  # bytes of the whole process, the framework included
    notes: tuple[str, ...] = ()
    problem: str = ""
    log: tuple[str, ...] = ()
    directory: str = ""
    curve: Curve = field(default_factory=Curve, repr=False, compare=False)

    @property
    def label(self) -> str:
        own = row_label(self.framework, self.devices)
        return f"{own} (oracle)" if self.oracle else own

    @property
    def ended(self) -> bool:
        """Whether the run came to its own end, so that its steps could be judged."""
        return self.status in ("completed", "diverged")

    @property
    def agree(self) -> bool:
        judged = bool(self.verdicts) and all(verdict.agree for verdict in self.verdicts)
        return self.ended and (self.oracle or judged)

    def verdict(self, quantity: str) -> Verdict:
        """The verdict on one quantity."""
        return next(verdict for verdict in self.verdicts if verdict.quantity == quantity)

    @property
    def first_difference(self) -> Verdict | None:
        """The quantity that differs first, and where: causes before effects."""
        return first_difference(self.verdicts)

    @property
    def deviation(self) -> float | None:
        """The largest relative deviation of the loss."""
        return next((v.largest for v in self.verdicts if v.quantity == "loss"), None)

    def to_dict(self) -> dict[str, Any]:
        values = {k: v for k, v in asdict(self).items() if k not in ("curve", "verdicts")}
        values["agree"] = self.agree
        values["verdicts"] = [asdict(v) | {"agree": v.agree} for v in self.verdicts]
        first = self.first_difference
        values["first_beyond"] = first.step if first else None
        values["first_quantity"] = first.quantity if first else None
        return values


@dataclass(frozen=True, repr=False)
class Comparison(ShowsItself, as_="comparison"):
    """One run in several frameworks against the oracle: NumPy in float64.

    `before` and `after` are the oracle's loss on the same batches with the weights at the start
    and at the end; None where the oracle came to no end.
    """

    spec: RunSpec
    rows: tuple[Row, ...]
    tolerances: Mapping[str, float]
    moved: bool
    before: float | None
    after: float | None
    machine: Mapping[str, Any]
    directory: Path

    @property
    def oracle(self) -> Row:
        return self.rows[0]

    @property
    def others(self) -> tuple[Row, ...]:
        """Every row that is compared with the oracle."""
        return self.rows[1:]

    @property
    def agree(self) -> bool:
        """Whether every row computed the oracle's numbers at every step, and the loss moved."""
        return self.moved and bool(self.others) and all(row.agree for row in self.rows)

    @property
    def exit_code(self) -> int:
        return 0 if self.agree else 1

    @property
    def verdict(self) -> str:
        """The outcome in a sentence."""
        if not self.oracle.ended:
            return f"not a comparison: the oracle's run {self.oracle.status}"
        if not self.moved:
            return "not a comparison: the loss did not move"
        if self.agree:
            *names, last = [row.label for row in self.others]
            all_names = f"{', '.join(names)} and {last} compute" if names else f"{last} computes"
            return f"{all_names} the oracle's numbers at all {self.num_steps} steps"
        return "; ".join(_complaint(row) for row in self.others if not row.agree)

    @property
    def hint(self) -> str:
        """What to try when rows differ in float32: rounding alone can do that."""
        if self.spec.precision == "float64" or not any(row.first_difference for row in self.others):
            return ""
        own = next((row for row in self.others if row.framework == self.oracle.framework), None)
        if own is not None and own.first_difference is not None:
            cause = "numpy in float32 differs from its float64, so rounding alone can do this here"
        else:
            cause = "in float32 rounding alone can make a run that is not stable differ"
        return f"{cause}: --precision float64 shows whether anything else differs"

    @property
    def num_steps(self) -> int:
        return len(self.oracle.curve.loss)

    def show(self) -> None:
        """Print the table and the verdict."""
        present("show_comparison", self)

    def report(self, path: str | Path) -> Path:
        """Write the page, with figures, as one HTML file."""
        page: Path = present("report_comparison", self, path)
        return page

    def plot(self, path: str | Path | None = None) -> Picture:
        """Show loss, deviation and loss against time; with `path`, write them there instead."""
        picture: Picture = present("plot_comparison", self, path)
        return picture

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a program to read; a number that is not finite is text."""
        values = {
            "name": self.spec.name,
            "agree": self.agree,
            "exit_code": self.exit_code,
            "verdict": self.verdict,
            "moved": self.moved,
            "loss_before": self.before,
            "loss_after": self.after,
            "steps": self.num_steps,
            "tolerances": dict(self.tolerances),
            "rows": [row.to_dict() for row in self.rows],
            "machine": dict(self.machine),
            "directory": str(self.directory),
            "spec": self.spec.to_dict(),
        }
        plain: dict[str, Any] = json_safe(values)
        return plain


def _complaint(row: Row) -> str:
    first = row.first_difference
    if not row.ended:
        verb = "is " if row.status == "missing" else ""
        return f"{row.label} {verb}{row.status}"
    if first is None:
        return f"{row.label} was not judged"
    when = "after" if first.quantity == "parameters" else "at"
    steps = f"{first.step} steps" if when == "after" else f"step {first.step}"
    where = f" ({first.where})" if "parameters" in first.quantity else ""
    return f"{row.label} differs {when} {steps}: {first.quantity}{where}"
