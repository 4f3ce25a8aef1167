"""How far a comparison is, and any long work, in a notebook: one output, updated in place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Self

from lockstep.report import notebook_html as parts
from lockstep.report.notebook_progress import Output
from lockstep.report.progress import Pace
from lockstep.report.quantities import number, rate
from lockstep.training.events import Event


class NotebookCompareProgress:
    """A bar for each row, called with its label and an event, or its status when it starts or
    ends; to be used with `with`."""

    def __init__(self, labels: Iterable[str] = ()) -> None:
        self._status = dict.fromkeys(labels, "waiting")
        self._paces: dict[str, Pace] = {}
        self._output = Output(self._drawn)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *stop: object) -> None:
        self._output.show(now=True)

    def __call__(self, label: str, event: Event | str) -> None:
        pace = self._paces.setdefault(label, Pace())
        if isinstance(event, str):
            self._status[label] = event
        else:
            pace(event)
            self._status[label] = "running"
        self._output.show()

    def _drawn(self) -> tuple[str, str]:
        lines = {label: self._line(label) for label in self._status}
        bars = [parts.bar(share, words) for share, words in lines.values()]
        return parts.block(*bars), "\n".join(words for _, words in lines.values())

    def _line(self, label: str) -> tuple[float, str]:
        pace, status = self._paces.get(label, Pace()), self._status[label]
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
