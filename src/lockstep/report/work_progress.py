"""Progress of long work: a bar with time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from lockstep.report.numbers import duration
from lockstep.report.progress import PLAIN_SECONDS, is_live

Tell = Callable[[float, str], None]


@contextmanager
def work_progress(name: str, file: TextIO) -> Iterator[Tell]:
    """While inside, `tell(part, text)` shows how far the work called `name` is."""
    if is_live(file):
        with _bar(file) as progress:
            task = progress.add_task(name, total=1.0, what="")
            yield lambda part, text: progress.update(task, completed=part, what=text[:60])
    else:
        yield _plain(name, file)


def _bar(file: TextIO) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("[dim]left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[what]}", style="dim", markup=False),  # paths may have brackets
        console=Console(file=file, highlight=False),
        transient=True,
    )


def _plain(name: str, file: TextIO) -> Tell:
    begin = time.monotonic()
    told = begin - PLAIN_SECONDS

    def tell(part: float, text: str) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= PLAIN_SECONDS or part == 1.0:
            told = now
            line = f"{name}: {part:4.0%}  {text}  ({duration(now - begin)})"
            print(line, file=file, flush=True)

    return tell
