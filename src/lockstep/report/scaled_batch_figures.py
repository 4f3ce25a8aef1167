"""The figure of the scaled batch: the metric of every run against time, and against epochs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lockstep.report.style import FONT, SERIES, new_figure, style
from lockstep.report.text import metric_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lockstep.experiments.scaled_batch import Curve

DASHES = {"none": ":", "linear": "-", "square_root": "--"}


def scaled_batch_figure(curves: Sequence[Curve], metric: str, title: str) -> Figure:
    """A colour for each number of devices, a dash for each rule."""
    figure = new_figure(11, 4.2, title)
    by_time, by_epoch = figure.subplots(1, 2, sharey=True)
    name = metric_name(metric)
    style(by_time, f"{name} against time", "seconds in steps", "")
    style(by_epoch, f"{name} against epochs", "epochs", "")
    colours = {
        k: SERIES[i % len(SERIES)] for i, k in enumerate(sorted({c.devices for c in curves}))
    }
    for curve in curves:
        look = {
            "color": colours[curve.devices],
            "linestyle": DASHES[curve.rule] if curve.devices > 1 else "-",
            "marker": "o",
            "markersize": 3,
            "label": curve.label,
        }
        by_time.plot(curve.seconds, curve.values, **look)
        by_epoch.plot(range(1, len(curve.values) + 1), curve.values, **look)
    by_epoch.xaxis.get_major_locator().set_params(integer=True)
    by_epoch.legend(fontsize=FONT - 2, frameon=False)
    return figure
