"""How results and comparisons show themselves: what `result.plot()`, `comparison.show()` and their
other methods do. The objects are of rooms on the left, which do not import this one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lockstep.report.comparison_charts import comparison_chart
from lockstep.report.comparison_page import write_comparison_page
from lockstep.report.comparison_tables import print_comparison as show_comparison
from lockstep.report.figures import draw, save_figure
from lockstep.report.run_charts import run_chart
from lockstep.report.run_tables import print_result as show_result
from lockstep.report.sweep_charts import sweep_chart
from lockstep.report.sweep_tables import print_sweep as show_sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lockstep.comparison.rows import Comparison
    from lockstep.sweeps.trials import Sweep
    from lockstep.training.result import Result

__all__ = [
    "plot_comparison",
    "plot_result",
    "plot_sweep",
    "report_comparison",
    "show_comparison",
    "show_result",
    "show_sweep",
]


def plot_result(result: Result, path: str | Path | None = None) -> Figure:
    """Loss, metrics and learning rate as a figure; also written to `path` if one is given."""
    spec = result.spec
    return _save(draw(run_chart(result.history, f"{spec.name} in {spec.framework}")), path)


def plot_comparison(comparison: Comparison, path: str | Path | None = None) -> Figure:
    """Loss, deviation and loss against time in one figure; also written to `path` if given."""
    return _save(draw(comparison_chart(comparison, comparison.spec.name)), path)


def plot_sweep(sweep: Sweep, path: str | Path | None = None) -> Figure:
    """The metric over the grid; also written to `path` if one is given."""
    return _save(draw(sweep_chart(sweep)), path)


def report_comparison(comparison: Comparison, path: str | Path) -> Path:
    """Write the page, with figures, as one HTML file."""
    return write_comparison_page(comparison, Path(path))


def _save(figure: Figure, path: str | Path | None) -> Figure:
    if path is not None:
        save_figure(figure, path)
    return figure
