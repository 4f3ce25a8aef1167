"""A sweep as a chart: a heat map over two axes, a curve over one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lockstep.report.charts import Chart, Heat, Panel, Series, is_wide
from lockstep.report.quantities import metric_name

if TYPE_CHECKING:
    from lockstep.sweeps.trials import Sweep, Trial


def sweep_chart(sweep: Sweep) -> Chart:
    """The best value over all further axes, for every value of the two with the most values."""
    shapes = {name: _distinct(sweep, name) for name in sweep.grid.axes}
    longest = sorted(shapes, key=lambda name: -len(shapes[name]))
    along = [name for name in longest if len(shapes[name]) > 1][:2] or longest[:1]
    along = [name for name in shapes if name in along]  # in the order they were given
    panel = _line(sweep, along[0]) if len(along) == 1 else _heat(sweep, *along)
    spec = sweep.run
    note = f"{spec.name} in {spec.framework}, {spec.precision}, {len(sweep.rows)} settings"
    return Chart(
        f"{spec.name}: {metric_name(sweep.metric)} by {' and '.join(along)}", (panel,), note
    )


def _line(sweep: Sweep, name: str) -> Panel:
    values = _distinct(sweep, name)
    best = [_best(sweep, [r for r in sweep.rows if r.settings[name] == v]) for v in values]
    numeric = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
    x = [float(v) for v in values] if numeric else [float(i) for i in range(len(values))]
    order = np.argsort(x)
    series = Series(
        metric_name(sweep.metric), np.array(x)[order], np.array(best)[order], marker="circle"
    )
    ticks = None if numeric else {float(i): value_text(v) for i, v in enumerate(values)}
    return Panel(
        "", name, metric_name(sweep.metric), (series,), x_log=numeric and is_wide(x),
        y_log=is_wide(best), x_ticks=ticks,
    )  # fmt: skip


def _heat(sweep: Sweep, y: str, x: str) -> Panel:
    rows, columns = _distinct(sweep, y), _distinct(sweep, x)
    values = np.full((len(rows), len(columns)), np.nan)
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            same = [r for r in sweep.rows if (r.settings[y], r.settings[x]) == (row, column)]
            values[i, j] = _best(sweep, same)
    best = sweep.best
    place = (rows.index(best.settings[y]), columns.index(best.settings[x])) if best else None
    heat = Heat(
        [value_text(v) for v in columns], [value_text(v) for v in rows], values,
        metric_name(sweep.metric), smaller=_smaller(sweep), best=place,
    )  # fmt: skip
    return Panel("", x, y, heat=heat)


def _distinct(sweep: Sweep, name: str) -> list[Any]:
    return list(dict.fromkeys(row.settings[name] for row in sweep.rows))


def _best(sweep: Sweep, rows: Sequence[Trial]) -> float:
    values = [v for row in rows if math.isfinite(v := sweep.value(row))]
    return (min if _smaller(sweep) else max)(values, default=math.nan)


def _smaller(sweep: Sweep) -> bool:
    return not sweep.metric.endswith("accuracy")


def value_text(value: Any) -> str:
    """
    >>> value_text(0.1000000001), value_text("constant(0.1)")
    ('0.1', 'constant(0.1)')
    """
    return f"{value:.4g}" if isinstance(value, float) else str(value)
