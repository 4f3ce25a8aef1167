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
    *mixing.arithmetic(),
    *mixing.divisions(),
    *mixing.truth(),
    *mixing.functions(),
    *mixing.indices(),
]
