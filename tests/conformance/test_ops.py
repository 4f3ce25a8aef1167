"""Every framework, every op: value and gradient against the float64 oracle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lockstep.ops import Ops

from .case import Case
from .cases import CASES, MIXED
from .limits import LIMITS
from .running import TOLERANCE, assert_near, evaluated, oracle, run

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)


def test_every_method_of_ops_has_a_case() -> None:
    methods = {name for name, value in vars(Ops).items() if callable(value) and name[0] != "_"}
    assert {"exp", "conv2d", "scan", "value_and_grad"} <= methods
    assert methods - {case.op for case in CASES} == set()


def test_case_names_are_unique() -> None:
    every = [*CASES, *(case for cases in MIXED.values() for case in cases)]
    assert len({case.id for case in every}) == len(every)


def check(ops: Any, precision: str, case: Case) -> None:
    outcome, expected = run(ops, case), oracle(case)
    for value in (outcome.value, evaluated(ops, case)):
        assert_near(value, expected.value, TOLERANCE[precision])
        assert kind(value, precision) == kind(expected.value, "float64")
    assert outcome.grads.keys() == expected.grads.keys()
    for name, gradient in expected.grads.items():
        assert_near(outcome.grads[name], gradient, TOLERANCE[precision])
        assert outcome.grads[name].dtype == precision


def check_within_limits(framework: Any, ops: Any, precision: str, case: Case) -> None:
    if (framework.name, precision, case.id) not in LIMITS:
        check(ops, precision, case)
        return
    with pytest.raises(AssertionError):
        check(ops, precision, case)


def test_limits_are_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "frameworks.md").read_text()
    for (framework, *_), limit in LIMITS.items():
        assert f"{framework}: {limit}" in text


def kind(value: np.ndarray, precision: str) -> str:
    """Floats of the precision asked for, or else the dtype."""
    return "as asked" if value.dtype == precision else str(value.dtype)


@every_case
def test_value_gradient_and_precision(framework: Any, ops: Any, precision: str, case: Case) -> None:
    check_within_limits(framework, ops, precision, case)


@pytest.mark.parametrize("group", MIXED)
def test_what_mixes_with_what(framework: Any, ops: Any, precision: str, group: str) -> None:
    for case in MIXED[group]:
        try:
            check_within_limits(framework, ops, precision, case)
        except Exception as error:
            raise AssertionError(case.id) from error


def test_the_same_without_faster_implementations(framework: Any, precision: str) -> None:
    """The Ops with and without them are one but for these; no case here asks for any."""
    ops, plain = framework.kernels(precision), framework.kernels(precision, fused=False)
    assert plain.fused == {}
    assert type(plain) is type(ops)
    assert vars(plain) | {"fused": {}} == vars(ops) | {"fused": {}}


@every_case
def test_inputs_stay_and_a_second_call_is_bit_equal(ops: Any, case: Case) -> None:
    given = {name: value.copy() for name, value in case.inputs.items()}
    arrays = {name: ops.asarray(value) for name, value in given.items()}
    before = {name: ops.to_numpy(array).copy() for name, array in arrays.items()}
    first, second = run(ops, case, arrays), run(ops, case, arrays)
    for name, value in case.inputs.items():
        np.testing.assert_array_equal(ops.to_numpy(arrays[name]), before[name])
        np.testing.assert_array_equal(given[name], value)
    assert first.value.tobytes() == second.value.tobytes()
    for name, gradient in first.grads.items():
        assert gradient.tobytes() == second.grads[name].tobytes()


def test_uint8_and_booleans_stay_what_they_are(ops: Any) -> None:
    for given in (np.array([0, 255], np.uint8), np.array([True, False])):
        assert ops.to_numpy(ops.asarray(given)).dtype == given.dtype


def test_python_numbers_become_floats_of_the_precision(ops: Any, precision: str) -> None:
    number = ops.to_numpy(ops.asarray(0.1))
    assert number.shape == ()
    assert number.dtype == precision
    assert number == np.dtype(precision).type(0.1)


def test_zeros_are_zeros(ops: Any, precision: str) -> None:
    for shape in ((2, 3), [4], ()):
        made = ops.to_numpy(ops.zeros(shape))
        assert made.dtype == precision
        np.testing.assert_array_equal(made, np.zeros(shape))
