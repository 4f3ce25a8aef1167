"""Do two runs compute the same numbers? Pure functions over arrays; nothing here starts a run.

With b the oracle's values and a another run's, the relative deviation is

    lr, loss, gradient norm, at t:    |a_t - b_t| / max(|b_t|, FLOOR * max_s |b_s|)
    parameters, for array w:          max|a_w - b_w| / max(max|b_w|, FLOOR * max_v max|b_v|)

Parameters are measured by the largest entry: entry by entry, those near zero would count rounding
as deviation; by the norm, one wrong entry of a large array would not be seen. The floor, a
millionth of the largest value, is where rounding of the residuals decides. What is not finite
deviates infinitely, and a run that ends early differs there. Batches are the same or
not: by their numbers (data/plans.py), 0 or infinity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lockstep.errors import InputError

FLOOR = 1e-6
TINY = 1e-300
LOSS_TOLERANCE = {"float32": 1e-4, "float64": 1e-9}
# A gradient is a sum of terms that cancel, and the parameters add up the errors of all steps: both
# lose about a digit against the loss, which sees them only to second order near a minimum.
MULTIPLES = {"loss": 1.0, "gradient norm": 10.0, "parameters": 10.0}
# What the host gives to every framework alike: float32 may round it, once.
GIVEN = {
    "float32": {"initial parameters": 1e-6, "batch": 0.0, "lr": 1e-12},
    "float64": {"initial parameters": 1e-15, "batch": 0.0, "lr": 1e-12},
}
QUANTITIES = (*GIVEN["float64"], *MULTIPLES)  # causes before effects
MOVED = 1e-3  # least relative change of the loss in a run that can prove anything


@dataclass(frozen=True)
class Verdict:
    """One quantity against the oracle. `step` is the first beyond tolerance, None if there is none.

    Parameters are looked at before the first step and after the last: their `step` is the number of
    updates made. `where` names the step or array of the largest deviation.
    """

    quantity: str
    largest: float
    tolerance: float
    step: int | None
    where: str

    @property
    def agree(self) -> bool:
        return self.step is None


def tolerances(precision: str, loss_tolerance: float | None = None) -> dict[str, float]:
    """Tolerance of every quantity: what was given, then that of the loss, times its multiple.

    >>> {name: limit for name, limit in tolerances("float64").items() if name in MULTIPLES}
    {'loss': 1e-09, 'gradient norm': 1e-08, 'parameters': 1e-08}
    """
    base = LOSS_TOLERANCE[precision] if loss_tolerance is None else loss_tolerance
    if not (math.isfinite(base) and base > 0):
        raise InputError("tolerance", base, "must be a positive number", "Give one such as 1e-6.")
    return GIVEN[precision] | {name: base * many for name, many in MULTIPLES.items()}


def relative_deviation(values: np.ndarray, oracle: np.ndarray) -> np.ndarray:
    """The deviation of each step that both runs have, by the formula above.

    >>> relative_deviation(np.array([2.0, 1.1]), np.array([2.0, 1.0])).round(3).tolist()
    [0.0, 0.1]
    """
    count = min(len(values), len(oracle))
    a, b = np.asarray(values[:count], np.float64), np.asarray(oracle[:count], np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        found = np.abs(a - b) / np.maximum(np.abs(b), _floor(b))
    return _not_finite_apart(found, a, b)


def judge_steps(
    quantity: str,
    values: np.ndarray,
    oracle: np.ndarray,
    tolerance: float,
    ends: tuple[int, int] | None = None,
) -> Verdict:
    """Judge a quantity that every step has.

    `ends` says how many steps the two runs made, where that is more than was recorded.

    >>> judge_steps("loss", np.array([1.0, 0.5, 0.3]), np.array([1.0, 0.5, 0.25]), 1e-4).step
    2
    """
    deviation = relative_deviation(values, oracle)
    ends = ends or (len(values), len(oracle))
    beyond = np.flatnonzero(~(deviation <= tolerance))
    if beyond.size:
        step: int | None = int(beyond[0])
    else:
        step = min(ends) if ends[0] != ends[1] else None
    largest, where = 0.0, "no step was compared"
    if deviation.size:
        at = int(np.argmax(deviation))
        largest, where = float(deviation[at]), f"step {at}"
    if not beyond.size and step is not None:
        largest, where = math.inf, f"one run ended at step {step}"
    if not deviation.size and step is None:
        step = 0  # nothing compared is nothing proved
    return Verdict(quantity, largest, tolerance, step, where)


def judge_batches(numbers: np.ndarray, oracle: np.ndarray) -> Verdict:
    """Judge whether two runs took the same rows at every step that both made.

    >>> judge_batches(np.array([7.0, 8.0]), np.array([7.0, 9.0])).step
    1
    """
    count = min(len(numbers), len(oracle))
    other = np.flatnonzero(numbers[:count] != oracle[:count])
    step = int(other[0]) if other.size else None
    largest, where = (0.0, "no step") if step is None else (math.inf, f"step {step}")
    return Verdict("batch", largest, 0.0, step, where)


def judge_parameters(
    values: Mapping[str, np.ndarray],
    oracle: Mapping[str, np.ndarray],
    tolerance: float,
    num_steps: int,
    quantity: str = "parameters",
) -> Verdict:
    """Judge the arrays after so many steps, the worst of them counting.

    >>> w = {"w": np.array([1.0, -2.0])}
    >>> judge_parameters({"w": np.array([1.0, -2.002])}, w, 1e-4, num_steps=60)
    Verdict(quantity='parameters', largest=0.00099..., tolerance=0.0001, step=60, where='w')
    """
    deviations = parameter_deviations(values, oracle)
    where = max(deviations, key=lambda name: deviations[name], default="")
    largest = deviations.get(where, math.inf)
    step = None if largest <= tolerance else num_steps
    return Verdict(quantity, largest, tolerance, step, where)


def parameter_deviations(
    values: Mapping[str, np.ndarray], oracle: Mapping[str, np.ndarray]
) -> dict[str, float]:
    """The deviation of each array; one that is missing or of another shape deviates infinitely."""
    whole = [np.asarray(b, np.float64).ravel() for b in oracle.values()]
    floor = _floor(np.concatenate(whole)) if whole else TINY
    found: dict[str, float] = {}
    for name in dict.fromkeys([*oracle, *values]):
        a, b = values.get(name), oracle.get(name)
        if a is None or b is None or np.shape(a) != np.shape(b):
            found[name] = math.inf
            continue
        a, b = np.asarray(a, np.float64).ravel(), np.asarray(b, np.float64).ravel()
        finite = np.abs(b[np.isfinite(b)])
        scale = max(float(finite.max(initial=0.0)), floor)
        with np.errstate(invalid="ignore", over="ignore"):
            entries = _not_finite_apart(np.abs(a - b) / scale, a, b)
        found[name] = float(entries.max(initial=0.0))
    return found


def loss_moved(before: float, after: float, tolerance: float) -> bool:
    """Whether a run's loss, on the same batches, changed enough for agreement to mean something.

    |after - before| / |before| must exceed MOVED, and ten times the tolerance.

    >>> loss_moved(0.5, 0.25, 1e-9), loss_moved(0.5, 0.5, 1e-9)
    (True, False)
    """
    if not (math.isfinite(before) and math.isfinite(after)):
        return math.isfinite(before)  # from finite to not finite is a move
    return abs(after - before) / max(abs(before), TINY) > max(MOVED, 10 * tolerance)


def first_difference(verdicts: Sequence[Verdict]) -> Verdict | None:
    """The verdict that differs first; at the same step causes come before effects."""
    different = [verdict for verdict in verdicts if verdict.step is not None]
    return min(different, key=lambda v: (v.step, QUANTITIES.index(v.quantity)), default=None)


def _floor(oracle: np.ndarray) -> float:
    finite = np.abs(oracle[np.isfinite(oracle)])
    return max(TINY, FLOOR * float(finite.max(initial=0.0)))


def _not_finite_apart(found: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Deviations with every value that is not finite, in either run, made infinite."""
    return np.where(np.isfinite(a) & np.isfinite(b), found, np.inf)
