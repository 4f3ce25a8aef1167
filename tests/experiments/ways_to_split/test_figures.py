"""The chart shows the times, bytes and hours that it was given."""

from __future__ import annotations

import numpy as np
import pytest

from lockstep.data.examples import Origin
from lockstep.experiments import ways_to_split
from lockstep.experiments.ways_to_split.findings import DeviceFacts, Results, WayFacts, Work
from lockstep.experiments.ways_to_split.question import DATA, LAYERS, ONE, Question
from lockstep.report.charts import Panel


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


def lengths(panel: Panel) -> list[float]:
    return [bar.end - bar.begin for bar in panel.bars]


def test_bars(results: Results) -> None:
    chart = ways_to_split.chart(results)
    time, sent, held, timeline = chart.panels
    np.testing.assert_allclose(lengths(time), [8.0, 5.0, 6.0])
    spreads = [(bar.low, bar.high) for bar in time.bars]
    np.testing.assert_allclose(spreads, [[6.4, 9.6], [4.0, 6.0], [4.8, 7.2]])
    np.testing.assert_allclose(lengths(sent), [0, 0.01, 0.02, 0.003, 0.04])
    # two devices of a way lie in its row, one below the other
    assert [round(bar.at) for bar in sent.bars] == [0, 1, 1, 2, 2]
    assert sent.bars[1].at < 1 < sent.bars[2].at
    expected = [500, 500 + 4e7, 500 + 8e7, 500 + 1.2e7, 500 + 1.6e8]
    np.testing.assert_allclose(lengths(held), np.array(expected) / 1e6)
    np.testing.assert_allclose(lengths(timeline), [2.0, 0.5])
    np.testing.assert_allclose([bar.begin for bar in timeline.bars], [1.0, 4.0])
    assert [bar.text for bar in timeline.bars] == ["F0", "B0"]
    assert timeline.rows == ("device 0", "device 1")
    assert time.rows == (ONE, DATA, LAYERS)
    assert "generated images" in chart.title


def test_no_pipeline_no_hours(results: Results) -> None:
    without = Results(results.question, results.origin, results.ways[:2])
    assert len(ways_to_split.chart(without).panels) == 3


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
