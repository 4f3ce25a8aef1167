"""The figure shows the times, bytes and hours that it was given."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.patches import Rectangle

from lockstep.data.examples import Origin
from lockstep.experiments import ways_to_split
from lockstep.experiments.ways_to_split.findings import DeviceFacts, Results, WayFacts, Work
from lockstep.experiments.ways_to_split.question import DATA, LAYERS, ONE, Question


def way(name: str, milliseconds: float, sent: list[int]) -> WayFacts:
    seconds = tuple(1e-3 * milliseconds * factor for factor in (0.5, 0.8, 1.0, 1.2, 3.0))
    devices = tuple(DeviceFacts("", 1000 * count, 500, count, 1, seconds) for count in sent)
    return WayFacts(name, seconds, (), devices, 0.0, 0.0, {})


@pytest.fixture
def results() -> Results:
    ways = (way(ONE, 8.0, [0]), way(DATA, 5.0, [10_000, 20_000]), way(LAYERS, 6.0, [3_000, 40_000]))
    timeline = (Work(0, "forward", 0, 0.001, 0.003), Work(1, "backward", 0, 0.004, 0.0045))
    asked = Question(ways=(DATA, LAYERS))
    return Results(asked, Origin("images", "", "generated", ""), ways, timeline)


def widths(axes: object) -> list[float]:
    patches = axes.patches  # type: ignore[attr-defined]
    return [patch.get_width() for patch in patches if isinstance(patch, Rectangle)]


def test_bars(results: Results) -> None:
    figure = ways_to_split.figure(results)
    time, sent, held, timeline = figure.axes
    np.testing.assert_allclose(widths(time), [8.0, 5.0, 6.0])
    spreads = [line.get_xdata() for line in time.lines]
    np.testing.assert_allclose(spreads, [[6.4, 9.6], [4.0, 6.0], [4.8, 7.2]])
    np.testing.assert_allclose(widths(sent), [0, 0.01, 0.02, 0.003, 0.04])
    expected = [500, 500 + 4e7, 500 + 8e7, 500 + 1.2e7, 500 + 1.6e8]
    np.testing.assert_allclose(widths(held), np.array(expected) / 1e6)
    np.testing.assert_allclose(widths(timeline), [2.0, 0.5])
    assert [text.get_text() for text in timeline.texts] == ["F0", "B0"]
    assert [text.get_text() for text in time.get_yticklabels()] == [ONE, DATA, LAYERS]
    assert "generated images" in figure.get_suptitle()


def test_no_pipeline_no_hours(results: Results) -> None:
    without = Results(results.question, results.origin, results.ways[:2])
    assert len(ways_to_split.figure(without).axes) == 3


def test_idle_and_bubble(results: Results) -> None:
    """Two devices, one of them half as busy, stand still for a quarter of their time."""
    whole = (0.01, 0.02)
    halves = (0.005, 0.01)
    devices = tuple(DeviceFacts("", 1, 1, 1, 1, busy) for busy in (whole, halves))
    pipeline = WayFacts(LAYERS, whole, (), devices, 0.0, 0.0, {})
    found = Results(Question(micro_batches=3), results.origin, (pipeline,))
    assert pipeline.idle == pytest.approx(0.25)
    assert found.bubble == pytest.approx(1 / 4)
    # 22.5 ms of work, 15 of them in the slower stage: (22.5 + 2 * 15) / 3 = 17.5 ms for two devices
    assert found.bubble_of_stages == pytest.approx(1 - 22.5 / (2 * 17.5))
