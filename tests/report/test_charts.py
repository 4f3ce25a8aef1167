"""A chart drawn by matplotlib and as text shows the values that it was given."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lockstep.report.charts import Bar, Chart, Guide, Heat, Panel, Series
from lockstep.report.figures import draw, save_figure
from lockstep.report.terminal_plot import plot_text

CURVES = Panel(
    "loss",
    "seconds",
    "loss",
    (
        Series("a", [1, 10, 100], [3.0, 2.0, 1.0], low=[2.5, 1.5, 0.5], high=[3.5, 2.5, 1.5]),
        Series("b", [1, 10, 100], [1.0, np.nan, 3.0], dash="dashed", marker="circle"),
        Series("", [1, 10], [2.0, 2.0], colour="#123456"),
    ),
    guides=(Guide(2.5, "goal"), Guide(10, "here", "x")),
    x_log=True,
)
BARS = Panel(
    "time",
    "ms",
    "",
    bars=(Bar(0, 20.0, low=18.0, high=22.0), Bar(1, 12.0, begin=2.0, text="F0", label="forward")),
    rows=("one", "two"),
)
HEAT = Panel(
    "sweep",
    "lr",
    "batch size",
    heat=Heat(["0.1", "1"], ["10"], np.array([[0.5, np.nan]]), "loss", best=(0, 0)),
)


def test_curves_bands_guides_and_axes() -> None:
    figure = draw(Chart("title $", (CURVES,), "a note"))
    (axes,) = figure.axes
    lines = {line.get_label(): line for line in axes.lines}
    np.testing.assert_array_equal(lines["a"].get_ydata(), [3, 2, 1])
    assert lines["a"].get_color() == "#0072b2"
    assert lines["b"].get_color() == "#d55e00"
    assert axes.get_xscale() == "log"
    assert axes.get_yscale() == "linear"
    (band,) = axes.collections
    found = {tuple(point) for point in band.get_paths()[0].vertices.tolist()}
    assert {(1.0, 2.5), (1.0, 3.5), (100.0, 0.5), (100.0, 1.5)} <= found
    assert {text.get_text() for text in axes.texts} == {"goal", "here"}
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["a", "b"]  # the one without a name is not in the legend
    assert "a note" in [text.get_text() for text in figure.texts]


def test_panels_share_a_legend_and_colours() -> None:
    other = Panel("again", "x", "y", (Series("b", [1], [1.0]), Series("c", [1], [2.0])))
    figure = draw(Chart("", (CURVES, other)))
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b", "c"]
    one, two = ({line.get_label(): line.get_color() for line in a.lines} for a in figure.axes)
    assert one["b"] == two["b"]
    assert len({one["a"], one["b"], two["c"]}) == 3


def test_bars_have_rows_spreads_and_text() -> None:
    (axes,) = draw(Chart("", (BARS,))).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["one", "two"]
    spans = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in axes.patches]
    assert spans == [(0.0, 20.0), (2.0, 12.0)]
    assert list(axes.lines[0].get_xdata()) == [18.0, 22.0]
    assert axes.yaxis.get_inverted()  # the first row is on top


def test_a_heat_map_marks_its_best_cell() -> None:
    axes, _ = draw(Chart("", (HEAT,))).axes  # beside it, the bar of its colours
    assert axes.images[0].get_array().tolist() == [[0.5, None]]
    assert list(axes.lines[0].get_xydata()[0]) == [0, 0]


@pytest.mark.parametrize("panels", [(), (Panel("", "", ""),), (CURVES, BARS, HEAT)])
def test_any_chart_becomes_a_file(panels: tuple[Panel, ...], tmp_path: Path) -> None:
    """Warnings are errors here."""
    path = save_figure(draw(Chart("all", panels, "note")), tmp_path / "a.png")
    assert path.stat().st_size > 1000


# --- as text


def test_text_names_curves_by_letters_and_axes_by_values() -> None:
    text = plot_text(CURVES, 70)
    assert text.splitlines()[0] == "loss"
    assert "A = a" in text
    assert "B = b" in text
    assert "AAA" in text
    assert "seconds" in text
    last = [line for line in text.splitlines() if " 1 " in line and "100" in line]
    assert len(last) == 1  # the ticks of the logarithmic axis are values, not powers
    assert max(map(len, text.splitlines())) <= 70


def test_bars_are_lines_in_proportion() -> None:
    lines = plot_text(BARS, 60).splitlines()
    assert lines[0] == "time (ms)"
    counts = [line.count("#") for line in lines[1:]]
    assert counts[0] / counts[1] == pytest.approx(20 / 12, rel=0.1)


@pytest.mark.parametrize("y", [[], [np.nan, np.inf], [0.0], [1e300, -1e300]])
def test_odd_curves_as_text(y: list[float]) -> None:
    panel = Panel("odd", "x", "y", (Series("a", list(range(len(y))), y),))
    assert plot_text(panel, 60).startswith("odd")


def test_text_leaves_out_what_is_beyond_the_range() -> None:
    panel = Panel("far", "x", "y", (Series("a", [0, 1, 2], [1.0, 900.0, 2.0]),), y_range=(0.0, 4.0))
    assert "900" not in plot_text(panel, 60)


def test_thousands_of_steps_are_written_out_in_a_terminal() -> None:
    line = Series("loss", np.arange(6001), np.linspace(12345.5, 0.5, 6001))
    text = plot_text(Panel("", "step", "loss", (line,)), 80)
    assert text.splitlines()[-2].split() == ["0", "1,200", "2,400", "3,600", "4,800", "6,000"]
    assert "12,346" in text
    assert "e+" not in text
