"""The figure shows the medians, spreads and predictions that it was given."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.patches import Rectangle

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
    figure = allreduce.figure(Results(bench, tuple(rows)))
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == [f"{s} KB over {k} devices" for s in (1, 4) for k in (2, 4)]
    for axes, devices in zip(figure.axes, (2, 4, 2, 4), strict=True):
        bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
        np.testing.assert_allclose([bar.get_width() for bar in bars], [3.0 * devices] * 3)
        *spreads, predicted = axes.lines
        for line in spreads:
            np.testing.assert_allclose(line.get_xdata(), [2.0 * devices, 4.0 * devices])
        np.testing.assert_allclose(predicted.get_xdata(), [10.0, 10.0])
        np.testing.assert_array_equal(predicted.get_ydata(), [0, 1])
        assert predicted.get_label() == "predicted"
        assert axes.get_xlabel() == "milliseconds"
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == ["ring", "tree", "gloo"]
