"""Random programs of about ten operations: value and gradient against the float64 oracle.

The ordinary suite runs a few; the campaign of 500 is slow (`docs/results.md` has its command).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from lockstep.frameworks import registry

from .conftest import TESTED
from .programs import ORACLE, WEIGHTS, Program, programs
from .running import assert_near

# ten operations one after the other, each may enlarge the roundings (1e-16) of those before it by
# the size of its values, at most 100; a kernel that computes in float32 is off by 1e-8 at once
TOLERANCE = 1e-10
# the oracle's gradient along one direction, by central differences with step 1e-6: off by
# f''' h^2 / 6 and by 1e-16 |f| / h, as a part of the terms that are summed
DIFFERENCE_TOLERANCE = 1e-5


def outcome(ops: Any, program: Program) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Every result in one row, and the gradients of their weighted sum."""
    arrays = {name: ops.asarray(x) for name, x in program.inputs.items()}
    weights = {name: arrays[name] for name in WEIGHTS}

    def weighted(w: dict[str, Any]) -> tuple[Any, Any]:
        row = program.run(ops, arrays | w)
        return ops.sum(row * _along(row.size)), row

    (_, row), grads = ops.value_and_grad(weighted)(weights)
    return ops.to_numpy(row), {name: ops.to_numpy(g) for name, g in grads.items()}


def _along(size: int) -> np.ndarray:
    return np.random.default_rng(size).normal(size=size)


def check(ops: Any, program: Program) -> None:
    value, grads = outcome(ops, program)
    expected, expected_grads = outcome(ORACLE, program)
    assert_near(value, expected, TOLERANCE)
    for name, grad in expected_grads.items():
        assert_near(grads[name], grad, TOLERANCE)


def few(count: int) -> Any:
    """Always the same programs, without shrinking for minutes where operations are compiled."""
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.parametrize("name", TESTED)
def test_random_programs(name: str) -> None:
    _run(name, 15)


@pytest.mark.slow
@pytest.mark.timeout(3600)  # every operation on a new shape is compiled: minutes in jax
@pytest.mark.parametrize("name", TESTED)
def test_five_hundred_random_programs(name: str) -> None:
    _run(name, 500)


def _run(name: str, count: int) -> None:
    ops, seen = registry.get(name).ops("float64"), []

    @few(count)
    @given(programs())
    def agree(program: Program) -> None:
        check(ops, program)
        seen.append(len(program.instructions))

    agree()
    assert len(seen) == count
    assert np.mean(seen) > 8  # of ten


@few(60)
@given(programs())
def test_the_oracles_gradients_are_those_of_differences(program: Program) -> None:
    rng, step = np.random.default_rng(0), 1e-6
    moves = {name: rng.normal(size=program.inputs[name].shape) for name in WEIGHTS}

    def total(scale: float) -> np.ndarray:
        inputs = {n: x + scale * moves[n] if n in moves else x for n, x in program.inputs.items()}
        row = ORACLE.to_numpy(
            program.run(ORACLE, {n: ORACLE.asarray(x) for n, x in inputs.items()})
        )
        return row * _along(row.size)

    _, grads = outcome(ORACLE, program)
    terms = [float((grads[name] * move).sum()) for name, move in moves.items()]
    parts = (total(step) - total(-step)) / (2 * step)
    scale = 1 + np.abs(parts).sum() + sum(np.abs(grads[n] * m).sum() for n, m in moves.items())
    assert abs(sum(terms) - parts.sum()) <= DIFFERENCE_TOLERANCE * scale
