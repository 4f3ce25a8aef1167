"""Comparing runs against the oracle: carrying them out, judging them, and what was found."""

from __future__ import annotations

from lockstep.comparison.compare import ORACLE, STEPS, TIMEOUT, compare
from lockstep.comparison.rows import Comparison, Curve, Rate, Row
from lockstep.comparison.verdict import Verdict

__all__ = [
    "ORACLE",
    "STEPS",
    "TIMEOUT",
    "Comparison",
    "Curve",
    "Rate",
    "Row",
    "Verdict",
    "compare",
]
