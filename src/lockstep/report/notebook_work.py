"""How far a comparison is, and any long work, in a notebook: one output, updated in place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Self

from lockstep.report import notebook_html as parts
from lockstep.report.compare_progress import RowStates
from lockstep.report.notebook_progress import Output
from lockstep.report.progress import Pace
from lockstep.report.quantities import number, rate
from lockstep.training.events import Event


class NotebookCompareProgress:
    """A bar for each row, called with its label and an event, or its status when it starts or
    ends; to be used with `with`."""

    def __init__(self, labels: Iterable[str] = ()) -> None:
        self._rows = RowStates(labels)
        self._output = Output(self._drawn)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *stop: object) -> None:
        self._output.show(now=True)

    def __call__(self, label: str, event: Event | str) -> None:
        self._rows(label, event)
        self._output.show()

    def _drawn(self) -> tuple[str, str]:
        lines = [_line(*row) for row in self._rows]
        bars = [parts.bar(share, words) for share, words in lines]
        return parts.block(*bars), "\n".join(words for _, words in lines)


def _line(label: str, status: str, pace: Pace) -> tuple[float, str]:
    """The share that is done, and where it stands in words."""
    words = [f"{label}: {status}"]
    if pace.num_steps:
        words.append(f"step {pace.step:,}/{pace.num_steps:,}")
    if pace.rate is not None:
        words += [f"loss {number(pace.loss)}", f"{rate(pace.rate)} steps/s"]
        words += [f"{pace.time_left} left"] if status == "running" else []
    return pace.step / max(1, pace.num_steps), ", ".join(words)


@contextmanager
def notebook_work(name: str) -> Iterator[Callable[[float, str], None]]:
    """While inside, `report(share, text)` shows how far the work called `name` is."""
    share, what = 0.0, "starting"

    def drawn() -> tuple[str, str]:
        words = f"{name}: {share:.0%}, {what}"
        return parts.block(parts.bar(share, words)), words

    output = Output(drawn)

    def report(done: float, text: str) -> None:
        nonlocal share, what
        share, what = done, text
        output.show()

    try:
        yield report
    finally:
        output.show(now=True)
