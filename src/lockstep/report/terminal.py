"""A run in the terminal: its progress while it goes on, its outcome when it is over."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TextIO

from lockstep.report.compare_progress import LiveCompareProgress, PlainCompareProgress
from lockstep.report.progress import LiveProgress, PlainProgress, ending, is_live
from lockstep.report.tables import (
    print_comparison,
    print_diff,
    print_result,
    print_run,
    print_runs,
)
from lockstep.training.events import Event, RunDiverged


def run_progress(file: TextIO | None = None) -> LiveProgress | PlainProgress:
    """A listener for `ls.train(..., listeners=[it])`, to be used with `with`. On stderr."""
    file = file or sys.stderr
    return LiveProgress(file) if is_live(file) else PlainProgress(file)


def compare_progress(
    labels: Iterable[str] = (), file: TextIO | None = None
) -> LiveCompareProgress | PlainCompareProgress:
    """The `progress` of `ls.compare`, to be used with `with`. On stderr."""
    file = file or sys.stderr
    return LiveCompareProgress(labels, file) if is_live(file) else PlainCompareProgress(file)


@contextmanager
def show_progress(*, quiet: bool = False) -> Iterator[list[Callable[[Event], None]]]:
    """The listeners that show a run's progress; when quiet, only that it diverged."""
    if quiet:
        yield [_tell_divergence]
        return
    with run_progress() as progress:
        yield [progress]


def _tell_divergence(event: Event) -> None:
    if isinstance(event, RunDiverged):
        print(ending(event), file=sys.stderr)


__all__ = [
    "compare_progress",
    "print_comparison",
    "print_diff",
    "print_result",
    "print_run",
    "print_runs",
    "run_progress",
    "show_progress",
]
