"""Progress of a comparison: a row for each framework, or plain lines where nothing can be redrawn.

Fed with a row's label and either an event or, when a framework starts and ends, a status.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Self, TextIO

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from lockstep.report.progress import DRAW_SECONDS, PLAIN_SECONDS, WIDE, Pace, PlainLines
from lockstep.report.quantities import duration, number, rate
from lockstep.showing import is_redrawn
from lockstep.training.events import Event, ProgramCompiled

NARROW = (0, 1, 6)  # the columns that a narrow terminal has room for
STYLES = {"completed": "green", "starting": "cyan", "running": "cyan", "waiting": "dim"}


class PlainCompareProgress(PlainLines):
    """A line when a framework starts, one every few seconds, and one when it ends."""

    def __init__(self, file: TextIO | None = None, seconds: float = PLAIN_SECONDS) -> None:
        super().__init__(file, seconds)
        self._paces: dict[str, Pace] = {}
        self._begin: dict[str, float] = {}

    def __call__(self, label: str, event: Event | str) -> None:
        pace = self._paces.setdefault(label, Pace())
        if not isinstance(event, str):
            pace(event)
            if isinstance(event, ProgramCompiled):
                ready = duration(event.seconds)
                self.print(f"{label}: ready in {ready}, {pace.num_steps:,} steps")
            elif 0 < pace.step < pace.num_steps and self.is_due:
                self.print(
                    f"{label}: step {pace.step:,}/{pace.num_steps:,}, {rate(pace.rate)} steps/s, "
                    f"loss {number(pace.loss)}, {pace.time_left} left"
                )
        elif event == "starting":
            self._begin[label] = time.monotonic()
            self.print(f"{label}: starting")
        else:
            took = duration(time.monotonic() - self._begin.get(label, time.monotonic()))
            steps = f", {pace.step:,} steps, loss {number(pace.loss)}" if pace.step else ""
            self.print(f"{label}: {event} after {took}{steps}")


class RowStates:
    """Where each row of a comparison stands, by the news of it."""

    def __init__(self, labels: Iterable[str] = ()) -> None:
        self._status = dict.fromkeys(labels, "waiting")
        self._paces: dict[str, Pace] = {}

    def __call__(self, label: str, event: Event | str) -> None:
        pace = self._paces.setdefault(label, Pace())
        if isinstance(event, str):
            self._status[label] = event
        else:
            pace(event)
            self._status[label] = "running"

    def __iter__(self) -> Iterator[tuple[str, str, Pace]]:
        """The label, the status and the pace of each."""
        for label, status in self._status.items():
            yield label, status, self._paces.get(label, Pace())


class LiveCompareProgress:
    """A table that is redrawn while the frameworks run, one after another."""

    def __init__(self, labels: Iterable[str] = (), file: TextIO | None = None) -> None:
        self._rows = RowStates(labels)
        self._ready: dict[str, float] = {}
        self._drawn = -math.inf
        console = Console(file=file or sys.stderr, highlight=False)
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *stop: object) -> None:
        self._live.stop()

    def __call__(self, label: str, event: Event | str) -> None:
        self._rows(label, event)
        if isinstance(event, ProgramCompiled):
            self._ready[label] = event.seconds
        now = time.monotonic()
        if isinstance(event, str) or now - self._drawn >= DRAW_SECONDS:
            self._drawn = now
            self._live.update(Group(self._table()), refresh=True)

    def _table(self) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        names = ("framework", "", "", "steps", "loss", "steps/s", "left", "compile")
        shown = range(len(names)) if self._live.console.width >= WIDE else NARROW
        for name in (names[place] for place in shown):
            table.add_column(name, justify="right" if name not in ("framework", "") else "left")
        for label, status, pace in self._rows:
            cells: tuple[RenderableType, ...] = (
                label,
                Text(status, STYLES.get(status, "red")),
                ProgressBar(total=max(1, pace.num_steps), completed=pace.step, width=24),
                f"{pace.step:,}/{pace.num_steps:,}" if pace.num_steps else "",
                number(pace.loss) if pace.step else "",
                rate(pace.rate),
                pace.time_left if status == "running" else "",
                duration(self._ready.get(label)),
            )
            table.add_row(*(cells[place] for place in shown))
        return table


def compare_progress(
    labels: Iterable[str] = (), file: TextIO | None = None
) -> LiveCompareProgress | PlainCompareProgress:
    """The `progress` of `ls.compare`, to be used with `with`. On stderr."""
    file = file or sys.stderr
    return LiveCompareProgress(labels, file) if is_redrawn(file) else PlainCompareProgress(file)
