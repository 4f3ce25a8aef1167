"""Progress of a run, from its events, and of any long work: a line that is redrawn on a terminal,
plain lines elsewhere.

A listener costs a run next to nothing: it draws at most four times a second, when an event comes.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self, TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from lockstep.errors import several
from lockstep.report.quantities import duration, lr, metric_name, metrics_line, number, rate
from lockstep.showing import is_redrawn
from lockstep.training.events import (
    CheckpointSkipped,
    EpochCompleted,
    Event,
    LogDamaged,
    ProgramCompiled,
    RemarkMade,
    RunCompleted,
    RunDiverged,
    RunInterrupted,
    RunStarted,
    SpecChanged,
    StepsCompleted,
    StoppedEarly,
    described,
)

EPOCH_LINES = 20  # of a run, at most about so many
DRAW_SECONDS = 0.25
WIDE = 100  # letters of a line that has room for a bar and everything else
PLAIN_SECONDS = 5.0  # between two plain lines

Report = Callable[[float, str], None]  # the share of the work that is done, and what was last


class Pace:
    """Where a run stands: steps, speed and what is left, from its events."""

    def __init__(self) -> None:
        self.step = self.num_steps = self.first = self.steps_per_epoch = 0
        self.loss = self.lr = math.nan
        self.rate: float | None = None  # of the steps themselves, the newest calls counting most
        self._begin = time.monotonic()

    def __call__(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self.step = self.first = event.step
            self.num_steps, self.steps_per_epoch = event.num_steps, event.steps_per_epoch
        elif isinstance(event, ProgramCompiled):
            self._begin = time.monotonic()
        elif isinstance(event, StepsCompleted):
            self.step = event.step + len(event.loss)
            self.loss, self.lr = event.loss[-1], event.lr[-1]
            now = len(event.loss) / max(event.seconds, 1e-9)
            self.rate = now if self.rate is None else 0.7 * self.rate + 0.3 * now

    @property
    def seconds_left(self) -> float | None:
        """By the clock, evaluations included; None before the first steps."""
        done = self.step - self.first
        elapsed = time.monotonic() - self._begin
        return elapsed * (self.num_steps - self.step) / done if done else None

    @property
    def time_left(self) -> str:
        """The same for people; "" before the first steps."""
        return "" if self.seconds_left is None else duration(math.ceil(self.seconds_left))

    @property
    def num_epochs(self) -> int:
        return math.ceil(self.num_steps / max(1, self.steps_per_epoch))

    def shows(self, epoch: int) -> bool:
        """Whether this epoch gets a line: all of few, some of many, always the last."""
        count = self.num_epochs
        every = math.ceil(count / EPOCH_LINES)
        return (epoch + 1) % every == 0 or epoch + 1 == count


def ending(event: Event) -> str | None:
    """What is said at the end of a run; None for any other event."""
    if isinstance(event, RunCompleted):
        return f"completed: {event.step:,} steps in {duration(event.seconds)}"
    if isinstance(event, RunDiverged):
        at = f"diverged: loss {event.loss} at step {event.step}, lr {lr(event.lr)}"
        return f"{at}; kept the state of step {event.kept}"
    return f"interrupted at step {event.step}" if isinstance(event, RunInterrupted) else None


def said_stopped(event: StoppedEarly) -> str:
    """Why a run stopped early.

    >>> said_stopped(StoppedEarly(600, 450, "validation_loss", 0.25, 1))
    '1 measurement since step 450 brought no gain in validation loss'
    >>> said_stopped(StoppedEarly(90, 0, "train_loss", None, 3))
    'train loss (epoch mean) was not a finite number in any of 3 measurements'
    """
    many = several(event.waited, "measurement")
    name = metric_name(event.metric)
    if event.value is None:
        return f"{name} was not a finite number in any of {many}"
    return f"{many} since step {event.best:,} brought no gain in {name}"


def remark(event: Event) -> str | None:
    """What a person should know of a run, whatever its progress; None for most events."""
    if isinstance(event, RemarkMade):
        return f"note: {event.text}"
    if isinstance(event, CheckpointSkipped | LogDamaged):
        return described(event)
    if isinstance(event, StoppedEarly):
        return f"stopped early: {said_stopped(event)}"
    return f"changed: {'; '.join(event.changes)}" if isinstance(event, SpecChanged) else None


def _line(event: Event, pace: Pace) -> tuple[str, str] | None:
    """What is said of an event for good, and in which style; None for most."""
    if isinstance(event, EpochCompleted) and pace.shows(event.epoch):
        return f"epoch {event.epoch + 1}: {metrics_line(event.metrics)}", ""
    if said := remark(event):
        return said, "" if isinstance(event, SpecChanged | StoppedEarly) else "yellow"
    if said := ending(event):
        return said, "" if isinstance(event, RunCompleted) else "yellow"
    return None


class PlainLines:
    """Lines on a stream, and whether it is time for the next of those that repeat."""

    def __init__(self, file: TextIO | None = None, seconds: float = PLAIN_SECONDS) -> None:
        self._file = file or sys.stderr
        self._seconds = seconds
        self._printed = -math.inf

    @property
    def is_due(self) -> bool:
        return time.monotonic() - self._printed >= self._seconds

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *stop: object) -> None:
        return None

    def print(self, line: str) -> None:
        print(line, file=self._file, flush=True)
        self._printed = time.monotonic()


class PlainProgress(PlainLines):
    """Plain lines: the start, one every few seconds, some epochs, the end. No escape codes."""

    def __init__(self, file: TextIO | None = None, seconds: float = PLAIN_SECONDS) -> None:
        super().__init__(file, seconds)
        self._pace = Pace()

    def __call__(self, event: Event) -> None:
        self._pace(event)
        pace = self._pace
        if isinstance(event, RunStarted):
            begin = f" from step {event.step:,}" if event.step else ""
            self.print(f"training: {event.num_steps:,} steps{begin}")
        elif isinstance(event, ProgramCompiled):
            self.print(f"ready in {duration(event.seconds)}: {', '.join(event.notes)}")
        elif isinstance(event, StepsCompleted):
            if self.is_due:
                self.print(
                    f"step {pace.step:,}/{pace.num_steps:,}  {rate(pace.rate)} steps/s  "
                    f"loss {number(pace.loss)}  lr {lr(pace.lr)}  {pace.time_left} left"
                )
        elif line := _line(event, pace):
            self.print(line[0])


class LiveProgress:
    """A line that is redrawn: bar, steps, speed, loss, lr, time left; above it a line per epoch."""

    def __init__(self, file: TextIO | None = None) -> None:
        self._console = Console(file=file or sys.stderr, highlight=False)
        steps = "{task.completed:,.0f}/{task.total:,.0f}"
        speed, loss = "[cyan]{task.fields[speed]} steps/s", "loss [bold]{task.fields[loss]}"
        rate, left = "[dim]lr {task.fields[lr]}", "[dim]{task.fields[left]} left"
        wide: list[ProgressColumn] = [
            BarColumn(bar_width=24),
            *map(TextColumn, (steps, speed, loss, rate, left)),
        ]
        middle, narrow = (steps, speed, loss, left), (steps, loss, left)
        width = self._console.width
        chosen = wide if width >= WIDE else [*map(TextColumn, middle if width >= 60 else narrow)]
        self._progress = Progress(
            TextColumn("{task.description}"),
            *chosen,
            console=self._console,
            auto_refresh=False,  # no thread beside the run
            transient=True,
        )
        self._pace = Pace()
        self._task: TaskID | None = None
        self._drawn = -math.inf

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *stop: object) -> None:
        self._progress.stop()

    def __call__(self, event: Event) -> None:
        self._pace(event)
        if isinstance(event, RunStarted):
            blank: dict[str, Any] = {"speed": "-", "loss": "-", "lr": "-", "left": "-"}
            self._task = self._progress.add_task("compiling", total=event.num_steps, **blank)
            self._draw("compiling", force=True)
        elif isinstance(event, ProgramCompiled | StepsCompleted):
            self._draw("", force=isinstance(event, ProgramCompiled))
        elif line := _line(event, self._pace):
            if ending(event):
                self._progress.update(self._task or TaskID(0), visible=False)
            self._console.print(line[0], style=line[1] or None, markup=False)

    def print(self, line: str) -> None:
        self._console.print(line, markup=False, soft_wrap=True)

    def _draw(self, what: str, force: bool = False) -> None:
        now = time.monotonic()
        if self._task is None or not (force or now - self._drawn >= DRAW_SECONDS):
            return
        self._drawn, pace = now, self._pace
        self._progress.update(self._task, description=what, completed=pace.step)
        if pace.rate is not None:
            self._progress.update(
                self._task,
                speed=rate(pace.rate),
                loss=number(pace.loss),
                lr=lr(pace.lr),
                left=pace.time_left,
            )
        self._progress.refresh()


def run_progress(file: TextIO | None = None) -> LiveProgress | PlainProgress:
    """A listener for `ls.train(..., listeners=[it])`, to be used with `with`. On stderr."""
    file = file or sys.stderr
    return LiveProgress(file) if is_redrawn(file) else PlainProgress(file)


@contextmanager
def show_progress(*, quiet: bool = False) -> Iterator[list[Callable[[Event], None]]]:
    """The listeners that show a run's progress; when quiet, only that it diverged."""
    if quiet:
        yield [_print_divergence]
        return
    with run_progress() as progress:
        yield [progress]


def _print_divergence(event: Event) -> None:
    if isinstance(event, RunDiverged):
        print(ending(event), file=sys.stderr)


# --- any long work --------------------------------------------------------------------------------


@contextmanager
def work_progress(name: str, file: TextIO) -> Iterator[Report]:
    """While inside, `report(share, text)` shows how far the work called `name` is."""
    if is_redrawn(file):
        with _bar(file) as progress:
            task = progress.add_task(name, total=1.0, what="")
            yield lambda share, text: progress.update(task, completed=share, what=text[:60])
    else:
        yield _plain(name, file)


def _bar(file: TextIO) -> Progress:
    console = Console(file=file, highlight=False)
    return Progress(
        TextColumn("{task.description}"),
        *([BarColumn(bar_width=24)] if console.width >= WIDE else []),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("[dim]left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[what]}", style="dim", markup=False),  # paths may have brackets
        console=console,
        transient=True,
    )


def _plain(name: str, file: TextIO) -> Report:
    lines, begin = PlainLines(file, PLAIN_SECONDS), time.monotonic()

    def report(share: float, text: str) -> None:
        if lines.is_due or share == 1.0:
            lines.print(f"{name}: {share:4.0%}  {text}  ({duration(time.monotonic() - begin)})")

    return report
