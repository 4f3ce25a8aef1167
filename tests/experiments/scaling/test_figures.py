"""The figure shows the efficiencies that it was given, on a logarithmic axis."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from lockstep.experiments import scaling
from lockstep.experiments.allreduce.cost import Link
from lockstep.experiments.scaling.forecast import Forecast
from lockstep.experiments.scaling.measuring import Check
from lockstep.experiments.scaling.overlap import WAYS, Piece
from lockstep.experiments.scaling.step_time import Network, Profile, estimate

PROFILE = Profile("net", 8, {8: 0.4, 4: 0.3, 1: 0.2}, (Piece("b", 90, 0.5), Piece("a", 10, 1.0)))
NETWORK = Network(Link(1e-3, 1e4), bucket=0)
ROWS = estimate(PROFILE, [1, 2, 64], ["ring", "tree"], NETWORK)


def test_lines_crosses_and_axes() -> None:
    check = Check("strong", 2, 8, 0.25, {}, single=0.4, compute=0.3)
    figure = scaling.figure(Forecast(PROFILE, "by hand", NETWORK, tuple(ROWS), (check,)))
    weak, strong = figure.axes
    assert weak.get_title(loc="left").startswith("weak scaling")
    assert strong.get_title(loc="left").startswith("strong scaling")
    for axes, kind in ((weak, "weak"), (strong, "strong")):
        assert axes.get_xscale() == "log"
        assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2", "64"]
        for index, name in enumerate(("ring", "tree")):
            chosen = [r for r in ROWS if (r.scaling, r.algorithm) == (kind, name)]
            during, after = axes.lines[2 * index : 2 * index + 2]
            for line, way in ((during, WAYS[3]), (after, WAYS[1])):
                np.testing.assert_array_equal(line.get_xdata(), [1, 2, 64])
                expected = [100 * row.efficiency(way) for row in chosen]
                np.testing.assert_allclose(line.get_ydata(), expected)
    assert [line.get_label() for line in weak.lines[::2]] == ["ring", "tree", "without overlap"]
    cross = strong.lines[-1]
    assert (list(cross.get_xdata()), list(cross.get_ydata())) == ([2], [80.0])
    (legend,) = figure.legends
    assert "measured here" in [text.get_text() for text in legend.get_texts()]


def test_weak_scaling_alone() -> None:
    weak = tuple(row for row in ROWS if row.scaling == "weak")
    figure = scaling.figure(Forecast(PROFILE, "by hand", NETWORK, weak))
    assert len(figure.axes) == 1
    assert "measured here" not in [text.get_text() for text in figure.legends[0].get_texts()]
