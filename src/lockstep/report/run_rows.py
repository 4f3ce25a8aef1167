"""Several runs in one table: what differs between what was asked, and what they came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from lockstep.report.curves import LoggedRun, read_run
from lockstep.report.quantities import duration, metric, metric_name
from lockstep.report.tables import filled, show
from lockstep.spec import RunSpec, diff
from lockstep.training.directory import RunDirectory

UNTOLD = ("name",)  # the runs' own names are in the first column


def named_runs(directories: Sequence[RunDirectory]) -> dict[str, RunDirectory]:
    """Each run once, under the name of its folder, or its path where two have the same name."""
    found = {directory.path.resolve(): directory for directory in directories}
    names = [path.name for path in found]
    return {p.name if names.count(p.name) == 1 else str(p): run for p, run in found.items()}


def read_runs(directories: Sequence[RunDirectory]) -> list[LoggedRun]:
    """Each run once, with its history."""
    return [read_run(run, label) for label, run in named_runs(directories).items()]


def differences(specs: Sequence[RunSpec]) -> dict[str, list[Any]]:
    """The fields in which specs differ, with the value of each.

    >>> from lockstep import recipes
    >>> differences([recipes.airfoil_linear(), recipes.airfoil_linear(batch_size=1)])
    {'batch_size': [10, 1]}
    """
    found: dict[str, list[Any]] = {}
    for place, spec in enumerate(specs):
        for name, one, other in diff(specs[0], spec):
            if name not in UNTOLD:
                found.setdefault(name, [one] * len(specs))[place] = other
    return found


def run_rows(runs: Sequence[LoggedRun]) -> tuple[list[str], list[list[str]]]:
    """The head and a row for each run."""
    differ = differences([run.spec for run in runs])
    metrics = list(dict.fromkeys(name for run in runs for name in run.metrics))
    head = ["run", *differ, "status", "steps", *map(metric_name, metrics), "time in steps"]
    rows = [
        [
            run.label,
            *(_said(values[place]) for values in differ.values()),
            run.status,
            f"{len(run.history):,}",
            *(metric(n, run.metrics[n]) if n in run.metrics else "" for n in metrics),
            duration(run.history.seconds) if len(run.history) else "",
        ]
        for place, run in enumerate(runs)
    ]
    return head, rows


def _said(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else repr(value)


def as_values(runs: Sequence[LoggedRun]) -> list[Mapping[str, Any]]:
    """The same as plain values, for a program to read."""
    differ = differences([run.spec for run in runs])
    return [
        {
            "run": run.label,
            "folder": str(run.path or Path()),
            "differs": {name: values[place] for name, values in differ.items()},
            "status": run.status,
            "steps": len(run.history),
            "metrics": run.metrics,
            "seconds": run.history.seconds,
        }
        for place, run in enumerate(runs)
    ]


def print_run_rows(runs: Sequence[LoggedRun], file: TextIO | None = None) -> None:
    """The table in the terminal."""
    head, rows = run_rows(runs)
    show([filled(head, rows, left=("run", "status"))], file)
