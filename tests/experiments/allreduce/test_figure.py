"""The chart shows the medians, spreads and predictions that it was given."""

from __future__ import annotations

import numpy as np

from lockstep.experiments import allreduce
from lockstep.experiments.allreduce.measuring import Measurement, Results
from lockstep.experiments.allreduce.question import Question


def row(size: int, devices: int, algorithm: str, predicted: float | None) -> Measurement:
    seconds = tuple(1e-3 * devices * factor for factor in (1.0, 2.0, 3.0, 4.0, 5.0))
    return Measurement(size, devices, algorithm, seconds, predicted=predicted)


def test_bars_spreads_and_predictions() -> None:
    bench = Question((1000, 4000), (2, 4), ("ring", "tree", "gloo"))
    rows = [
        row(size, devices, name, None if name == "gloo" else 0.01)
        for size in bench.sizes
        for devices in bench.devices
        for name in bench.algorithms
    ]
    chart = allreduce.chart(Results(bench, tuple(rows)))
    titles = [panel.title for panel in chart.panels]
    assert titles == [f"{s} KB over {k} devices" for s in (1, 4) for k in (2, 4)]
    assert chart.columns == 2
    for panel, devices in zip(chart.panels, (2, 4, 2, 4), strict=True):
        assert [bar.at for bar in panel.bars] == [0, 1, 2]
        np.testing.assert_allclose([bar.end for bar in panel.bars], [3.0 * devices] * 3)
        spreads = [(bar.low, bar.high) for bar in panel.bars]
        np.testing.assert_allclose(spreads, [(2.0 * devices, 4.0 * devices)] * 3)
        (predicted,) = panel.series
        np.testing.assert_allclose(predicted.x, [10.0, 10.0])
        assert list(predicted.y) == [0, 1]
        assert (predicted.label, predicted.line) == ("predicted", False)
        assert panel.x == "milliseconds"
        assert panel.rows == ("ring", "tree", "gloo")


def test_without_predictions() -> None:
    bench = Question((1000,), (2,), ("gloo",))
    (panel,) = allreduce.chart(Results(bench, (row(1000, 2, "gloo", None),))).panels
    assert panel.series == ()
