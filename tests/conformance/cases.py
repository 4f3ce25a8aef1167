"""The table: every case of the suite. A new method of Ops gets cases in elementwise or layers, and
in mixing if it takes whole numbers."""

from __future__ import annotations

from . import elementwise, layers, mixing
from .case import Case

CASES: list[Case] = [
    *elementwise.in_and_out(),
    *elementwise.one_argument(),
    *elementwise.two_arguments(),
    *elementwise.where(),
    *elementwise.operators(),
    *elementwise.comparisons(),
    *elementwise.reductions(),
    *elementwise.largest(),
    *layers.shapes(),
    *layers.joining(),
    *layers.slices(),
    *layers.overlapping(),
    *layers.selection(),
    *layers.products(),
    *layers.convolutions(),
    *layers.pooling(),
    *layers.scans(),
    *layers.gradients(),
]
# so many, and each so small, that a test of its own would take longer than the case: by group
MIXED: dict[str, list[Case]] = {
    "arithmetic": list(mixing.arithmetic()),
    "divisions": list(mixing.divisions()),
    "truth": list(mixing.truth()),
    "functions": list(mixing.functions()),
    "indices": list(mixing.indices()),
}
