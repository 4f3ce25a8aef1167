"""How far a run is, in a notebook: one output that is updated in place, with a bar, the time left,
and curves that grow. It is plain HTML, so the saved notebook shows the last of it.

It costs a run little: it is drawn at most twice a second, and a drawing takes at most a twentieth
of the time. A curve is kept as a few hundred points, however long the run is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from lockstep.report import notebook_html as parts
from lockstep.report.charts import MUTED, Chart, Panel, Series, framework_colour, is_wide
from lockstep.report.progress import Pace, ending, remark
from lockstep.report.quantities import lr, number, rate
from lockstep.report.run_charts import metrics_panels
from lockstep.training.events import Event, StepsCompleted
from lockstep.training.history import History

SECONDS = 0.5  # between two drawings
SHARE = 0.05  # of the time that drawing may take
MOST_POINTS = 256  # of a curve
PLACES = 32  # for the pointer, while it grows
MOST_NOTES = 6


class Curve:
    """A curve that grows: points that are the mean of `every` values each; `every` doubles, and
    pairs of points become one, when there are `most` of them (an even number).

    >>> curve = Curve(most=2)
    >>> curve.add(np.array([4.0, 2.0, 1.0, 1.0, 7.0]), first=10)
    >>> curve.every, [values.tolist() for values in curve.points()]
    (2, [[10.5, 12.5, 14.0], [3.0, 1.0, 7.0]])
    """

    def __init__(self, most: int = MOST_POINTS) -> None:
        self._most, self._first = most, 0
        self.every = 1
        self._means = np.empty(0)
        self._rest = np.empty(0)  # values that fill no point yet

    def add(self, values: np.ndarray, first: int) -> None:
        """The values of steps `first`, `first` + 1 ..."""
        if not len(self._means) and not len(self._rest):
            self._first = first
        values = np.concatenate([self._rest, values])
        while len(values) >= self.every:
            if len(self._means) == self._most:
                self._means = self._means.reshape(-1, 2).mean(axis=1)
                self.every *= 2
                continue
            count = min(self._most - len(self._means), len(values) // self.every)
            taken, values = np.split(values, [count * self.every])
            self._means = np.append(self._means, taken.reshape(count, -1).mean(axis=1))
        self._rest = values

    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """The middle of the steps of each point, and its value."""
        middles = self._first + (np.arange(len(self._means)) + 0.5) * self.every - 0.5
        if not len(self._rest):
            return middles, self._means
        begin = self._first + len(self._means) * self.every
        last = begin + (len(self._rest) - 1) / 2
        return np.append(middles, last), np.append(self._means, self._rest.mean())


class Output:
    """One output of a notebook's cell, whose content can be replaced.

    `draw` gives it as HTML and as text. It is called at most every SECONDS, and so rarely that it
    takes at most SHARE of the time."""

    def __init__(self, draw: Callable[[], tuple[str, str]]) -> None:
        self._draw = draw
        self._handle: Any = None
        self._shown, self._took = -math.inf, 0.0

    def show(self, *, now: bool = False) -> None:
        """Show it as it is, if it is time for that."""
        from IPython.display import display

        begin = time.monotonic()
        if not now and begin - self._shown < max(SECONDS, self._took / SHARE):
            return
        html, text = self._draw()
        data = {"text/html": html, "text/plain": text}
        if self._handle is None:
            self._handle = display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)
        self._shown = time.monotonic()
        self._took = self._shown - begin


class NotebookProgress:
    """A listener that shows a run in one output, to be used with `with`."""

    def __init__(self, name: str, framework: str) -> None:
        self._name, self._framework = name, framework
        self._output = Output(self._drawn)
        self._pace, self._loss, self._lr = Pace(), Curve(), Curve()
        self._history = History()  # of all but the steps
        self._notes: list[str] = []
        self._end = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *stop: object) -> None:
        self._end = self._end or "stopped"  # by an error, or a second interrupt
        if self._pace.num_steps:  # otherwise the error alone says what there is to say
            self._output.show(now=True)

    def __call__(self, event: Event) -> None:
        self._pace(event)
        if isinstance(event, StepsCompleted):
            self._loss.add(event.loss, event.step)
            self._lr.add(event.lr, event.step)
        else:
            self._history(event)
            self._note(event)
        self._output.show()

    def print(self, line: str) -> None:
        """Show a line below the others."""
        self._notes.append(line)

    def _note(self, event: Event) -> None:
        if said := ending(event):
            self._end = said
        elif (note := remark(event)) and note not in self._notes:
            self._notes.append(note)

    def _drawn(self) -> tuple[str, str]:
        text = f"{self._name} in {self._framework}: {self._words()}"
        return self._html(), "\n".join([text, *self._notes])

    def _words(self) -> str:
        """Where the run is, in a line."""
        pace = self._pace
        if not pace.num_steps:
            return self._end or "starting"
        if pace.rate is None:
            return self._end or "compiling"
        every = max(1, pace.steps_per_epoch)
        epochs = f"epoch {min(pace.step // every + 1, pace.num_epochs)}/{pace.num_epochs}"
        where = f"step {pace.step:,}/{pace.num_steps:,}, {epochs}"
        now = f"loss {number(pace.loss)}, lr {lr(pace.lr)}, {rate(pace.rate)} steps/s"
        return f"{where}, {now}, {self._end or f'{pace.time_left} left'}"

    def _html(self) -> str:
        pace = self._pace
        share = pace.step / pace.num_steps if pace.num_steps else 0.0
        return parts.block(
            parts.title(self._name, f"in {self._framework}"),
            parts.bar(share, self._words()),
            *(parts.line(note) for note in self._notes[-MOST_NOTES:]),
            parts.charts(self._chart(), places=PLACES) if pace.rate is not None else "",
        )

    def _chart(self) -> Chart:
        steps, losses = self._loss.points()
        colour, name = framework_colour(self._framework), "loss"
        if self._loss.every > 1:
            name = f"loss, mean of {self._loss.every} steps"
        loss = Series("loss", steps, losses, colour=colour)
        lrs = Series("learning rate", *self._lr.points(), colour=MUTED)
        return Chart("", (
            Panel(name, "step", "loss", (loss,), y_log=is_wide(losses)),
            *metrics_panels(self._history),
            Panel("learning rate", "step", "learning rate", (lrs,), y_zero=True),
        ))  # fmt: skip
