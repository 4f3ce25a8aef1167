"""The chart shows the efficiencies that it was given, on a logarithmic axis."""

from __future__ import annotations

import numpy as np

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
    chart = scaling.chart(Forecast(PROFILE, "by hand", NETWORK, tuple(ROWS), (check,)))
    weak, strong = chart.panels
    assert weak.title.startswith("weak scaling")
    assert strong.title.startswith("strong scaling")
    for panel, kind in ((weak, "weak"), (strong, "strong")):
        assert panel.x_log
        assert panel.x_ticks == {1: "1", 2: "2", 64: "64"}
        for index, name in enumerate(("ring", "tree")):
            chosen = [r for r in ROWS if (r.scaling, r.algorithm) == (kind, name)]
            during, after = panel.series[2 * index : 2 * index + 2]
            for series, way in ((during, WAYS[3]), (after, WAYS[1])):
                assert list(series.x) == [1, 2, 64]
                expected = [100 * row.efficiency(way) for row in chosen]
                np.testing.assert_allclose(series.y, expected)
            assert (during.label, during.dash, after.dash) == (name, "solid", "dotted")
    assert [series.label for series in weak.series[::2]] == ["ring", "tree", "without overlap"]
    cross = strong.series[-1]
    assert (cross.label, list(cross.x), list(cross.y)) == ("measured here", [2], [80.0])
    assert not cross.line


def test_weak_scaling_alone() -> None:
    weak = tuple(row for row in ROWS if row.scaling == "weak")
    (panel,) = scaling.chart(Forecast(PROFILE, "by hand", NETWORK, weak)).panels
    assert "measured here" not in [series.label for series in panel.series]
