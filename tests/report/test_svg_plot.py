"""Pictures for notebooks: points in their places, values under the pointer, whatever the data."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.report.charts import (
    INK,
    Chart,
    Guide,
    Heat,
    Panel,
    Series,
    framework_colour,
    series_colours,
)
from lockstep.report.notebook_html import block, charts
from lockstep.report.svg_plot import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    chart_svg,
    panel_svg,
    spark_svg,
    ticks,
)

SVG = "{http://www.w3.org/2000/svg}"


def drawn(panel: Panel, **how: Any) -> ElementTree.Element:
    """The picture as XML, which it has to be."""
    return ElementTree.fromstring(panel_svg(panel, series_colours([panel]), **how))


def texts(picture: ElementTree.Element) -> list[str]:
    return ["".join(text.itertext()) for text in picture.iter(f"{SVG}text")]


def curve(picture: ElementTree.Element) -> list[tuple[float, float]]:
    """The points of the first curve."""
    path = next(path for path in picture.iter(f"{SVG}path") if path.get("fill") == "none")
    return [(float(x), float(y)) for x, y in re.findall(r"[ML]([\d.]+),([\d.]+)", path.get("d"))]


def test_a_curve_lies_between_its_axes() -> None:
    """Steps 0 to 4 over the width; the values with 6 % of room below and above."""
    picture = drawn(Panel("a", "step", "loss", (Series("loss", range(5), [3.0, 2, 1, 2, 3]),)))
    xs, ys = zip(*curve(picture), strict=True)
    assert xs == pytest.approx(np.linspace(LEFT, WIDTH - RIGHT, 5), abs=0.06)
    high, low = TOP, HEIGHT - BOTTOM
    room = (low - high) * 0.06 / 1.12
    assert ys[2] == pytest.approx(low - room, abs=0.06)
    assert ys[0] == ys[4] == pytest.approx(high + room, abs=0.06)
    assert ys[1] == pytest.approx((ys[0] + ys[2]) / 2, abs=0.06)


def test_equal_factors_are_equal_lengths_on_a_logarithmic_axis() -> None:
    line = Series("loss", [0, 1, 2], [100.0, 1.0, 0.01])
    ys = [y for _, y in curve(drawn(Panel("", "step", "loss", (line,), y_log=True)))]
    assert ys[1] - ys[0] == pytest.approx(ys[2] - ys[1], abs=0.11)
    assert {"100", "1", "0.01"} <= {*texts(drawn(Panel("", "step", "loss", (line,), y_log=True)))}


def test_the_values_of_each_place_are_under_the_pointer() -> None:
    one, two = Series("a", range(10), np.arange(10) / 4), Series("b", range(10), np.arange(10) * 2)
    picture = drawn(Panel("", "step", "loss", (one, two)))
    (group,) = [g for g in picture.iter(f"{SVG}g") if g.get("class") == "lockstep-at"]
    assert group.get("visibility") == "hidden"
    said = texts(group)
    assert len(said) == 10
    assert said[3] == "step 3: a 0.7500, b 6.000"
    assert not texts(drawn(Panel("", "step", "loss", (one,)), places=0))[-1].startswith("step 9")


def test_a_curve_that_is_nearly_black_has_the_colour_of_the_text() -> None:
    """Dark grey is not seen in a dark notebook, and which theme that has nothing here can know."""
    dark = Series("oracle", [0, 1], [1.0, 2.0], colour=framework_colour("oracle"))
    other = Series("torch", [0, 1], [1.0, 3.0], colour=framework_colour("torch"))
    panel = Panel("", "step", "loss", (dark, other), guides=(Guide(1.5, colour=INK),))
    shown = charts(Chart("", (panel,)))
    assert dark.colour not in shown
    assert INK not in shown
    assert 'stroke="currentColor" stroke-width="2.5"' in shown  # beside its name
    assert other.colour in shown


def test_a_name_lies_beside_a_line_as_faint_and_broken_as_its_curve() -> None:
    faint = Series("each step", [0, 1], [1.0, 2.0], colour="#0072b2", alpha=0.3)
    mean = Series("mean", [0, 1], [1.0, 2.0], colour="#0072b2", dash="dashed")
    names, _, _ = charts(Chart("", (Panel("", "step", "loss", (faint, mean)),))).partition("role")
    lines = [tag for tag in re.findall("<path[^>]*>", names) if "M0,4H18" in tag]
    assert ['stroke-opacity="0.3"' in line for line in lines] == [True, False]
    assert ["dasharray" in line for line in lines] == [False, True]


def test_what_is_not_finite_is_a_gap() -> None:
    line = Series("a", range(5), [1.0, np.nan, 2.0, np.inf, 3.0])
    points = curve(drawn(Panel("", "x", "y", (line,))))
    assert len(points) == 3


def test_names_from_outside_are_text() -> None:
    line = Series("<b>&", [0, 1], [1.0, 2.0])
    picture = drawn(Panel("a < b", "<x>", '"y"', (line,), guides=(Guide(1.5, "<goal>"),)))
    assert {"a < b", "<x>", '"y"', "<goal>"} <= {*texts(picture)}
    html = block(charts(Chart("", (Panel("<i>", "x", "y", (line, Series("c", [0], [1.0]))),))))
    assert "<b>" not in html
    assert "<i>" not in html


def test_a_heat_map_has_its_values_and_its_best() -> None:
    heat = Heat(["0.1", "1"], ["10", "20"], np.array([[0.5, np.nan], [0.2, 0.7]]), "loss",
                best=(1, 0))  # fmt: skip
    picture = drawn(Panel("", "lr", "batch size", heat=heat))
    assert {"0.5000", "0.2000", "0.7000", "10", "0.1"} <= {*texts(picture)}
    said = [title.text for title in picture.iter(f"{SVG}title")]
    assert said[2] == "batch size 20, lr 0.1: loss 0.2000"
    cells = list(picture.iter(f"{SVG}rect"))
    assert [cell.get("stroke") is not None for cell in cells] == [False, False, True, False]
    assert cells[1].get("fill") == "none"
    assert cells[2].get("fill") == "#440154"  # the darkest is the best


def test_the_panels_of_a_chart_do_not_overlap() -> None:
    line = (Series("a", [0, 1], [1.0, 2.0]),)
    panels = [Panel("one", "x", "y", line, wide=True), Panel("two", "x", "y", line)]
    picture = ElementTree.fromstring(
        chart_svg(Chart("", (*panels, Panel("three", "x", "y", line))))
    )
    inner = [(float(p.get("x", -1)), float(p.get("y", -1))) for p in picture.findall(f"{SVG}svg")]
    assert inner == [(0, 0), (0, HEIGHT), (WIDTH, HEIGHT)]
    assert float(picture.get("height", 0)) == 2 * HEIGHT


def test_a_small_curve_falls_with_its_values() -> None:
    path = ElementTree.fromstring(spark_svg(np.linspace(3, 1, 200))).find(f"{SVG}path")
    assert path is not None
    heights = [float(y) for y in re.findall(r",([\d.]+)", path.get("d", ""))]
    assert heights == sorted(heights)  # downwards on the screen
    assert (heights[0], heights[-1]) == (2.0, 16.0)
    assert spark_svg(np.array([1.0])) == ""


real = st.floats(allow_nan=True, allow_infinity=True)


@given(st.lists(real, max_size=12), st.booleans(), st.booleans(), st.booleans())
def test_any_curve_is_a_picture(ys: list[float], log: bool, zero: bool, steps: bool) -> None:
    """Warnings are errors here, and so is what is no XML or no place."""
    line = Series("a", range(len(ys)), ys, steps=steps, marker="circle")
    picture = drawn(Panel("", "step", "y", (line,), y_log=log, y_zero=zero))
    for path in picture.iter(f"{SVG}path"):
        assert not re.search("nan|inf|e\\+", path.get("d", ""))


@given(st.floats(1e-30, 1e20), st.floats(1e-9, 1e9))
def test_ticks_are_few_and_within(low: float, factor: float) -> None:
    high = low * (1 + factor)
    for log in (False, True):
        found = ticks(low, high, log)
        assert len(found) <= 12
        room = 1e-6 * (high - low)  # far less than a pixel
        assert all(low - room <= value <= high + room for value in found)
