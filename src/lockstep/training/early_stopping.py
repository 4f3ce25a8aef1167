"""Early stopping: the best measurement so far, its weights, and when to stop. Host-side and pure;
which metric counts, and how much of a gain, is the spec's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lockstep.ops import Arrays, Snapshot
from lockstep.spec import RunSpec


@dataclass(frozen=True)
class Best:
    """The best `value` of the metric `watch`, after `step` updates, with the weights of then; and
    how many measurements since brought no gain. None and {} before the first."""

    watch: str
    value: float | None = None
    step: int = 0
    waited: int = 0
    weights: Arrays = field(default_factory=dict, repr=False, compare=False)

    def gains(self, value: float, least_gain: float) -> bool:
        """Whether a value is better than the best by more than `least_gain`.

        >>> Best("validation_loss", 0.5).gains(0.45, 0.1), Best("accuracy", 0.5).gains(0.7, 0.1)
        (False, True)
        """
        if self.value is None or not math.isfinite(value):
            return math.isfinite(value)
        if smaller_is_better(self.watch):
            return value < self.value - least_gain
        return value > self.value + least_gain

    def to_dict(self) -> dict[str, Any]:
        """Plain values; the weights go with the state's arrays."""
        return {"watch": self.watch, "value": self.value, "step": self.step, "waited": self.waited}


def smaller_is_better(metric: str) -> bool:
    """
    >>> smaller_is_better("test_loss"), smaller_is_better("test_accuracy")
    (True, False)
    """
    return not metric.endswith("accuracy")


def taken_up(spec: RunSpec, facts: Mapping[str, Any], snapshot: Snapshot | None) -> Best | None:
    """What early stopping knew at a checkpoint; None where a run has no patience.

    Another metric is watched from the start. A run that had stopped, and is given more epochs, has
    all its patience again."""
    if not spec.patience:
        return None
    saved = facts.get("best")
    if saved is None or snapshot is None or saved["watch"] != spec.watched:
        return Best(spec.watched)
    best = Best(**saved, weights=snapshot.best)
    more = spec.epochs > facts.get("spec", {}).get("epochs", spec.epochs)
    return replace(best, waited=0) if more and is_over(spec, best) else best


def is_over(spec: RunSpec, best: Best | None) -> bool:
    """Whether as many measurements as the spec's patience brought no gain."""
    return best is not None and best.waited >= spec.patience
