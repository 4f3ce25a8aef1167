"""How a case is run: its value, and its gradient along one drawn direction."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lockstep.frameworks import registry

from .case import Case, Inputs, draw

# float64 kernels may sum in another order and approximate exp and tanh to some units in the last
# place: some hundred roundings of 1e-16, as parts of the largest entry. One that computes in
# float32 on the way is off by more than 1e-9. float32 keeps 6e-8 a rounding, that of the inputs
# too; the longest sums here have 75 terms, and sums of them follow in the gradients: some hundreds
# of roundings in the worst case.
TOLERANCE = {"float64": 1e-13, "float32": 2e-5}


class Outcome(NamedTuple):
    value: np.ndarray
    grads: Inputs


def cotangent(case: Case) -> np.ndarray:
    """A drawn number for each entry of the result: gradients are those of sum(result * drawn)."""
    return draw(*np.shape(case.expect(**case.inputs)), seed=9)


def evaluated(ops: Any, case: Case) -> np.ndarray:
    """The case's value alone, with no gradient asked for: some Ops take another way then."""
    arrays = {name: ops.asarray(value) for name, value in case.inputs.items()}
    return ops.to_numpy(case.call(ops, **arrays))


def run(ops: Any, case: Case, arrays: dict[str, Any] | None = None) -> Outcome:
    """The case's value and gradients under these Ops, as NumPy arrays."""
    arrays = arrays or {name: ops.asarray(value) for name, value in case.inputs.items()}
    if not case.grad:
        return Outcome(ops.to_numpy(case.call(ops, **arrays)), {})
    along = ops.asarray(cotangent(case))
    others = {name: value for name, value in arrays.items() if name not in case.grad}

    def weighted(weights: dict[str, Any], others: dict[str, Any]) -> tuple[Any, Any]:
        given = weights | others
        out = case.call(ops, **{name: given[name] for name in case.inputs})
        return ops.sum(out * along), out

    weights = {name: arrays[name] for name in case.grad}
    (_, value), grads = ops.value_and_grad(weighted)(weights, others)
    return Outcome(ops.to_numpy(value), {name: ops.to_numpy(g) for name, g in grads.items()})


_known: dict[str, Outcome] = {}


def oracle(case: Case) -> Outcome:
    """The case under NumPy in float64, once."""
    if case.id not in _known:
        _known[case.id] = run(registry.get("numpy").ops("float64"), case)
    return _known[case.id]


def assert_near(actual: Any, expected: Any, tolerance: float) -> None:
    """Equal in shape, and in each entry to a part of the largest entry and of itself."""
    expected = np.asarray(expected)
    assert np.shape(actual) == expected.shape
    largest = np.abs(expected).max(initial=0.0)
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * largest)
