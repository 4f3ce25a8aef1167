"""What `plot()` gives: a chart that is shown once, where a person looks on, and can be kept.

In a notebook it is a picture; in a terminal, text; where nobody looks on it only waits to be saved.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from lockstep.report import notebook_html
from lockstep.report.charts import Chart
from lockstep.report.figures import draw, save_figure
from lockstep.report.svg_plot import chart_svg
from lockstep.report.terminal_plot import print_plot
from lockstep.showing import in_kernel, ipython, is_live

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ChartPicture:
    """A chart that shows itself.

    >>> ChartPicture(Chart("a run", ()))
    picture: a run
    """

    def __init__(self, chart: Chart) -> None:
        self._chart = chart
        self._shown_in: int | None = None  # the number of a cell

    @property
    def figure(self) -> Figure:
        """The same as a figure of matplotlib, to change it."""
        return draw(self._chart)

    def save(self, path: str | Path) -> Path:
        """Write it as PNG or SVG, by the suffix of the name."""
        return save_figure(self.figure, path)

    def show(self) -> None:
        """Show it now, in a notebook or a terminal."""
        if in_kernel():
            from IPython.display import display

            self._shown_in = ipython().execution_count
            display(self._in_notebook(), raw=True)
        elif sys.stdout is not None and is_live(sys.stdout):
            self._shown_in = ipython().execution_count if ipython() else None
            for panel in self._chart.panels:
                print_plot(panel)

    def _in_notebook(self) -> dict[str, str]:
        heading = notebook_html.title(self._chart.title) if self._chart.title else ""
        html = notebook_html.block(heading, notebook_html.charts(self._chart))
        return {
            "text/html": html,
            "image/svg+xml": chart_svg(self._chart),
            "text/plain": repr(self),
        }

    def _ipython_display_(self) -> None:
        """As the value of a cell; one that the cell has shown already is not shown twice."""
        if self._shown_in != ipython().execution_count:
            self.show()

    def __repr__(self) -> str:
        titles = "; ".join(panel.title for panel in self._chart.panels if panel.title)
        return f"picture: {self._chart.title or titles}"


def plotted(chart: Chart, path: str | Path | None) -> ChartPicture:
    """The chart, shown; with `path`, written there instead."""
    picture = ChartPicture(chart)
    if path is None:
        picture.show()
    else:
        picture.save(path)
    return picture
