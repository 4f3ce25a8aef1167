"""The oracle itself: values against direct formulas, gradients against finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from lockstep.contract import ContractOps
from lockstep.errors import InputError
from lockstep.frameworks.numpy.autodiff import Var, backward
from lockstep.frameworks.numpy.ops import NumpyOps

from .case import Case, draw, positive
from .cases import CASES, MIXED
from .running import assert_near, cotangent, oracle

OPS = NumpyOps("float64")
STEP = 1e-5
# central differences are off by f''' h^2 / 6 (1e-9 where f''' is 60, more than any here) and by the
# rounding of the sum, 1e-16 * 1000 / h = 1e-8; a wrong rule is off by far more
DIFFERENCE_TOLERANCE = 1e-7


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_values_equal_the_direct_formula(case: Case) -> None:
    # some hundred roundings of 1e-16
    assert_near(oracle(case).value, case.expect(**case.inputs), 1e-13)


@pytest.mark.parametrize("group", MIXED)
def test_values_and_gradients_of_mixed_dtypes(group: str) -> None:
    for case in MIXED[group]:
        assert_near(oracle(case).value, case.expect(**case.inputs), 1e-13)
        assert_differences(case)


def differences(case: Case, name: str) -> np.ndarray:
    """d sum(result * cotangent) / d input, by central differences, entry after entry."""
    along, gradient = cotangent(case), np.empty(case.inputs[name].shape)

    def total(x: np.ndarray) -> float:
        return float(np.sum(case.call(OPS, **(case.inputs | {name: x})) * along))

    for at in np.ndindex(gradient.shape):
        move = np.zeros(gradient.shape)
        move[at] = STEP
        up, down = case.inputs[name] + move, case.inputs[name] - move
        gradient[at] = (total(up) - total(down)) / (2 * STEP)
    return gradient


SMOOTH = [case for case in CASES if case.grad and not case.kink]


@pytest.mark.parametrize("case", SMOOTH, ids=lambda case: case.id)
def test_gradients_equal_finite_differences(case: Case) -> None:
    assert_differences(case)


def assert_differences(case: Case) -> None:
    for name in case.grad:
        gradient = oracle(case).grads[name]
        largest = max(1.0, float(np.abs(gradient).max()))
        np.testing.assert_allclose(
            gradient, differences(case, name), rtol=0, atol=DIFFERENCE_TOLERANCE * largest
        )


@pytest.mark.parametrize(
    "shapes",
    [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2)), ((2, 3, 4), (2, 4, 5)), ((3, 4), (2, 4, 5))],
    ids=str,
)
def test_products_of_every_rank(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """The contract has matrices on the right; the oracle's `@` follows NumPy further."""
    inputs = {"a": draw(*shapes[0]), "b": draw(*shapes[1], seed=1)}
    case = Case("@", "", inputs, lambda ops, a, b: a @ b, lambda a, b: a @ b, ("a", "b"))
    along, (a, b) = cotangent(case), (Var(x) for x in inputs.values())
    grads = backward(OPS.sum((a @ b) * along))
    for name, leaf in {"a": a, "b": b}.items():
        # linear in each: only rounding is left, 1e-16 * |sum| / h
        np.testing.assert_allclose(grads[id(leaf)], differences(case, name), rtol=0, atol=1e-9)


@given(mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=3), st.integers(0, 99))
def test_a_gradient_sums_over_what_was_broadcast(shapes: Any, seed: int) -> None:
    """d sum(a b) / da: each entry of a collects the entries of b that it met."""
    left, right = shapes.input_shapes
    a, b = Var(positive(*left, seed=seed)), Var(positive(*right, seed=seed + 1))
    grads = backward(OPS.sum(a * b))
    for leaf, other in ((a, b), (b, a)):
        numbered = np.arange(leaf.value.size).reshape(leaf.shape)
        places, met = (np.broadcast_to(x, shapes.result_shape) for x in (numbered, other.value))
        collected = np.bincount(places.ravel(), weights=met.ravel()).reshape(leaf.shape)
        # at most 81 terms, in another order
        np.testing.assert_allclose(grads[id(leaf)], collected, rtol=1e-14 * 81)


def test_a_chain_of_many_thousand_nodes() -> None:
    x = Var(np.array(1.0))
    y = x
    for _ in range(20_000):
        y = y + x
    assert backward(y)[id(x)] == 20_001


def test_gradients_are_arrays_of_their_own() -> None:
    a, b = Var(np.ones(3)), Var(np.ones(3))
    grads = backward(OPS.sum(a + b))
    grads[id(a)] += 1
    np.testing.assert_array_equal(grads[id(b)], np.ones(3))


def test_without_variables_no_graph_is_built() -> None:
    contract = ContractOps(OPS)
    for case in [*CASES, *MIXED["functions"]]:
        arrays = {name: contract.asarray(value) for name, value in case.inputs.items()}
        found = case.call(contract, **arrays).native
        assert isinstance(found, np.ndarray | np.generic), case.id


@pytest.mark.parametrize(
    "number", [2, 0.5, np.float64(0.5), np.array(3), np.array([1, 2])], ids=str
)
def test_float32_stays_float32_with_every_kind_of_number(number: Any) -> None:
    for value in (np.float32(1.5), np.array([1.5, 2.5], np.float32)):
        x = Var(np.asarray(value))
        results = [x + number, number - x, x * number, number / x, x**number, number**x, -x]
        assert [r.dtype for r in results] == [np.float32] * len(results)
        total = NumpyOps("float32").sum(sum(results[1:], results[0]))
        assert backward(total)[id(x)].dtype == np.float32


def test_advanced_indexing_is_refused_with_the_remedy() -> None:
    with pytest.raises(InputError, match=r"ops\.take or ops\.pick"):
        Var(np.ones(3))[np.array([0, 0])]


def test_only_a_scalar_has_a_gradient() -> None:
    with pytest.raises(InputError, match="is not a scalar"):
        backward(Var(np.ones(3)) * 2)


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(InputError, match="Did you mean 'float32'"):
        NumpyOps("float3")
