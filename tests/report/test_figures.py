"""Figures show what they were given: the data of their lines, labels, units and text."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.axes import Axes

from lockstep.comparison import Comparison, Curve
from lockstep.errors import InputError, MissingError
from lockstep.files import DiskError
from lockstep.report import comparison_charts as charts
from lockstep.report.charts import FRAMEWORKS, Chart, Panel, thinned
from lockstep.report.charts import framework_colour as colour
from lockstep.report.figures import draw, figure_svg, save_figure
from lockstep.report.run_charts import run_chart
from lockstep.training.events import EpochCompleted, StepsCompleted
from lockstep.training.history import History


def run_figure(history: History, title: str = "") -> Any:
    return draw(run_chart(history, title))


def one_figure(panel: Panel) -> Any:
    return draw(Chart("", (panel,)))


def panels(figure: Any) -> dict[str, Axes]:
    return {axes.get_title(loc="left"): axes for axes in figure.axes}


def lines(axes: Axes) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return {str(line.get_label()): (line.get_xdata(), line.get_ydata()) for line in axes.lines}


def test_a_run_has_its_loss_metrics_and_rate(history: History) -> None:
    found = panels(run_figure(history, "a run"))
    assert list(found) == [
        "loss of every step",
        "loss of every epoch",
        "accuracy of every epoch",
        "learning rate of every step",
    ]
    steps, loss = lines(found["loss of every step"])["each step"]
    np.testing.assert_allclose(loss, 2 - 0.05 * np.arange(40))
    np.testing.assert_array_equal(steps, np.arange(40))
    epochs, accuracy = lines(found["accuracy of every epoch"])["test accuracy"]
    np.testing.assert_allclose(accuracy, [60, 70, 80, 90])
    np.testing.assert_array_equal(epochs, [1, 2, 3, 4])
    assert found["accuracy of every epoch"].get_ylabel() == "accuracy (%)"
    (rate,) = found["learning rate of every step"].lines
    np.testing.assert_allclose(rate.get_ydata(), np.repeat([0.1, 0.05, 0.025, 0.0125], 10))
    for axes in found.values():
        assert axes.get_xlabel() in ("step", "epoch")
        assert axes.get_ylabel()


def test_a_noisy_loss_is_shown_under_its_mean(history: History) -> None:
    noise = np.where(np.arange(200) % 2, 1.0, 3.0)
    history(StepsCompleted(0, 0, noise.tolist(), [1.0] * 200, [0.1] * 200, 1.0))
    found = lines(panels(run_figure(history))["loss of every step"])
    assert set(found) == {"each step", "mean of 10 steps"}
    # away from the ends the mean of five ones and five threes is two
    np.testing.assert_allclose(found["mean of 10 steps"][1][10:-10], 2.0)


def test_perplexity_that_falls_far_is_on_a_logarithmic_axis(history: History) -> None:
    history(EpochCompleted(0, 10, {"train_perplexity": 900.0}, 1.0))
    history(EpochCompleted(1, 20, {"train_perplexity": 1.1}, 1.0))
    found = panels(run_figure(history))
    assert found["perplexity of every epoch"].get_yscale() == "log"
    assert found["learning rate of every step"].get_yscale() == "linear"


@pytest.mark.parametrize("loss", [[], [1.0], [1.0, 1e300, float("inf"), float("nan")]])
def test_odd_histories_are_drawn_without_a_warning(loss: list[float], tmp_path: Path) -> None:
    """Warnings are errors here."""
    history = History()
    if loss:
        ones = [1.0] * len(loss)
        history(StepsCompleted(0, 0, loss, ones, ones, 0.1))
        history(EpochCompleted(0, len(loss), {"train_loss": loss[-1]}, 0.1))
    assert save_figure(run_figure(history, "odd"), tmp_path / "odd.png").stat().st_size > 1000


def test_long_curves_are_thinned_but_keep_their_ends() -> None:
    x, y = thinned(np.arange(100_001), np.arange(100_001) * 2.0)
    assert len(x) == 2000
    assert (x[0], x[-1], y[-1]) == (0, 100_000, 200_000.0)


# --- comparisons


def test_losses_lie_over_each_other(comparison: Comparison, oracle_loss: np.ndarray) -> None:
    (axes,) = one_figure(charts.loss_panel(comparison)).axes
    found = lines(axes)
    assert list(found) == ["numpy (oracle)", "torch", "jax"]  # mxnet made no step
    np.testing.assert_array_equal(found["numpy (oracle)"][1], oracle_loss)
    colours = {line.get_label(): line.get_color() for line in axes.lines}
    assert colours["torch"] == FRAMEWORKS["torch"]
    assert colours["jax"] == FRAMEWORKS["jax"]
    widths = [line.get_linewidth() for line in axes.lines]
    assert widths == sorted(widths, reverse=True)  # so that equal curves all show


def test_deviations_show_the_tolerance_and_where_a_framework_parts(comparison: Comparison) -> None:
    (axes,) = one_figure(charts.deviation_panel(comparison)).axes
    assert axes.get_yscale() == "log"
    found = lines(axes)
    assert found["jax"][1][24] == 1e-17  # nothing, drawn at the bottom
    np.testing.assert_allclose(found["jax"][1][25:], 1e-3, rtol=1e-6)
    assert found["torch"][1].max() < 1e-13
    level = [line for line in axes.lines if list(line.get_ydata()) == [1e-9, 1e-9]]
    assert len(level) == 1
    assert [text.get_text() for text in axes.texts] == ["tolerance 1e-09", "jax: step 25"]
    dotted = [line for line in axes.lines if list(line.get_xdata()) == [25, 25]]
    assert [line.get_color() for line in dotted] == [colour("jax")]


def test_loss_against_time_is_on_a_logarithmic_axis(comparison: Comparison) -> None:
    (axes,) = one_figure(charts.time_panel(comparison)).axes
    assert axes.get_xscale() == "log"
    assert "seconds" in axes.get_xlabel()
    np.testing.assert_allclose(lines(axes)["torch"][0], 0.001 * np.arange(1, 41))


def test_the_three_in_one(comparison: Comparison, tmp_path: Path) -> None:
    assert len(draw(charts.comparison_chart(comparison)).axes) == 3
    comparison.plot(tmp_path / "all.svg")
    assert "tolerance 1e-09" in (tmp_path / "all.svg").read_text()


def test_rows_without_a_step_leave_empty_axes(comparison: Comparison) -> None:
    empty = replace(comparison, rows=tuple(replace(row, curve=Curve()) for row in comparison.rows))
    assert figure_svg(draw(charts.comparison_chart(empty)), "x", "nothing")


# --- out


def test_svg_keeps_text_and_is_the_same_every_time(history: History) -> None:
    one, two = (figure_svg(run_figure(history, "a $run$ <b>"), "p", 'a "label"') for _ in range(2))
    assert one == two
    root = ElementTree.fromstring(one)
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    for expected in ("loss of every step", "epoch", "accuracy (%)", "test accuracy", "a $run$ <b>"):
        assert expected in texts
    assert root.get("aria-label") == 'a "label"'
    ids = re.findall(r'\bid="([^"]+)"', one)
    assert len(ids) == len(set(ids))
    assert all(name.startswith("p-") for name in ids)
    used = re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', one)
    assert {a or b for a, b in used} <= set(ids)


def test_svg_colours_follow_the_page(comparison: Comparison) -> None:
    svg = figure_svg(one_figure(charts.loss_panel(comparison)), "p", "loss")
    assert f"var(--c-d55e00, {FRAMEWORKS['torch']})" in svg
    assert svg.count("var(--c-0072b2") >= 2  # its curve, and its line in the legend


def test_files_are_png_or_svg_by_their_suffix(history: History, tmp_path: Path) -> None:
    figure = run_figure(history, "a run")
    png = save_figure(figure, tmp_path / "a.PNG").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert b"<svg" in save_figure(figure, tmp_path / "new" / "a.svg").read_bytes()
    with pytest.raises(InputError, match=r"Name it \.png or \.svg"):
        save_figure(figure, tmp_path / "a.pdf")
    (tmp_path / "file").write_text("")
    with pytest.raises(DiskError):
        save_figure(figure, tmp_path / "file" / "a.png")


def test_frameworks_have_colours_of_their_own() -> None:
    assert len(set(FRAMEWORKS.values())) == len(FRAMEWORKS)
    assert colour("unheard of") == colour("unheard of")


def test_without_matplotlib_the_remedy_is_named(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingError, match=r"lockstep-train\[figures\]"):
        run_figure(history)


def test_pyplot_is_never_touched() -> None:
    code = (
        "import sys; from lockstep.report.figures import draw, figure_svg;"
        "from lockstep.report.run_charts import run_chart;"
        "from lockstep.training.history import History;"
        "assert 'matplotlib' not in sys.modules;"
        "figure_svg(draw(run_chart(History(), 'x')), 'p', 'x');"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
