"""Where figures appear: in a notebook, as text in a terminal, or as files in a folder.

A figure that changes is drawn again at most every SECONDS, and once more when it is finished: at
the end of a notebook's cell, when another figure begins, or when Python ends.
"""

from __future__ import annotations

import atexit
import io
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lockstep.d2l import options
from lockstep.files import json_safe, write_whole
from lockstep.report.charts import Panel, Series
from lockstep.report.terminal_plot import print_plot
from lockstep.showing import in_kernel, ipython, is_redrawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METADATA = "lockstep"  # the key of a figure's last values in a notebook's output
SECONDS = 1.0  # between two drawings of a figure: one takes a twentieth of that


class Drawn(Protocol):
    """Something that can be drawn as it is now."""

    def draw(self) -> Figure: ...

    def last(self) -> dict[str, float]:
        """The last value of each curve that grew, by its name."""
        ...

    def close(self) -> None: ...


class Screen(Protocol):
    """One figure's place. `show` may be called often; `finish` is the last time."""

    def show(self, drawn: Drawn, status: str) -> None: ...

    def finish(self, drawn: Drawn) -> None: ...


class NotebookScreen:
    """An output of a cell that is replaced by each drawing."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, drawn: Drawn, status: str) -> None:
        from IPython.display import display

        figure = drawn.draw()
        data = {"image/svg+xml": svg(figure), "text/plain": described(figure)}
        about = {METADATA: json_safe(drawn.last())}  # for programs that read the notebook
        if self._handle is None:
            self._handle = display(data, raw=True, metadata=about, display_id=True)
        else:
            self._handle.update(data, raw=True, metadata=about)

    def finish(self, drawn: Drawn) -> None:
        self.show(drawn, "")


class TerminalScreen:
    """A line on stderr while the figure grows, and the text plot on stdout in the end."""

    def show(self, drawn: Drawn, status: str) -> None:
        if is_redrawn(sys.stderr):
            print(f"\r\x1b[K{status}", end="", file=sys.stderr, flush=True)

    def finish(self, drawn: Drawn) -> None:
        if is_redrawn(sys.stderr):
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        figure = drawn.draw()
        for axes in figure.axes:
            panel = as_panel(axes)
            if panel.series:
                print_plot(panel)
            elif axes.images:
                print(f"[an image: {axes.get_title() or described(figure)}]")


class FolderScreen:
    """A numbered SVG file, written anew by each drawing."""

    count = 0

    def __init__(self, folder: Path) -> None:
        FolderScreen.count += 1
        self.path = folder / f"figure-{FolderScreen.count:02d}.svg"

    def show(self, drawn: Drawn, status: str) -> None:
        write_whole(self.path, svg(drawn.draw()).encode())

    def finish(self, drawn: Drawn) -> None:
        self.show(drawn, "")
        print(f"figure: {self.path}", file=sys.stderr)


def screen() -> Screen:
    """The place of a new figure, as the options say or as where this code runs suggests."""
    asked = options.figures()
    if asked == "notebook" or (asked == "auto" and in_kernel()):
        return NotebookScreen()
    return TerminalScreen() if asked in ("auto", "terminal") else FolderScreen(Path(asked))


class Growing:
    """A figure that may change. What changes it after it was finished opens it again, in a new
    place: a cell may go on with the figure of a cell before."""

    def __init__(self, drawn: Drawn) -> None:
        self._drawn = drawn
        self._screen: Screen | None = None  # while it is open
        self._shown = 0.0

    def changed(self, status: str = "") -> None:
        """Draw it again if it is time for that."""
        if self._screen is None:
            self._screen = screen()
            _open.append(self)
        now = time.monotonic()
        if options.current().live and now - self._shown >= SECONDS:
            self._screen.show(self._drawn, status)
            self._shown = time.monotonic()

    def finish(self) -> None:
        if self._screen is not None:
            self._screen.finish(self._drawn)
        self._screen = None
        self._drawn.close()


_open: list[Growing] = []  # those that changed since they were drawn for the last time
_hooked: set[str] = set()


def begin(drawn: Drawn) -> Growing:
    """A new figure; those before it are finished."""
    finish()
    _hook()
    return Growing(drawn)


def finish(*event: object) -> None:
    """Draw the open figures for the last time."""
    while _open:
        _open.pop(0).finish()


def _hook() -> None:
    if in_kernel() and "cell" not in _hooked:
        ipython().events.register("post_execute", finish)
        _hooked.add("cell")
    if "exit" not in _hooked:
        atexit.register(finish)
        _hooked.add("exit")


# --- a figure in other forms ----------------------------------------------------------------------


def svg(figure: Figure) -> str:
    made = io.BytesIO()
    figure.savefig(made, format="svg", bbox_inches="tight")
    return made.getvalue().decode()


def described(figure: Figure) -> str:
    """A figure in words: what is on its axes.

    >>> from matplotlib.figure import Figure
    >>> figure = Figure()
    >>> figure.subplots().set(xlabel="epoch", ylabel="loss") and None
    >>> described(figure)
    'figure: loss against epoch'
    """
    named = [(axes.get_ylabel(), axes.get_xlabel()) for axes in figure.axes]
    words = [f"{y} against {x}" if x and y else y or x for y, x in named]
    count = sum(len(axes.get_lines()) for axes in figure.axes)
    return f"figure: {'; '.join(filter(None, words)) or f'curves without names, {count}'}"


def as_panel(axes: Axes) -> Panel:
    """The curves of matplotlib's axes as a panel of ours, which can be drawn as text."""
    lines = axes.get_lines()
    legend = axes.get_legend()
    names = [text.get_text() for text in legend.get_texts()] if legend else []
    names += [f"curve {place + 1}" for place in range(len(names), len(lines))]
    series = [
        Series(name, line.get_xdata(), line.get_ydata())  # type: ignore[arg-type]
        for name, line in zip(names, lines, strict=False)
    ]
    return Panel(
        axes.get_title(), axes.get_xlabel(), axes.get_ylabel(), tuple(series),
        x_log=axes.get_xscale() == "log", y_log=axes.get_yscale() == "log",
    )  # fmt: skip
