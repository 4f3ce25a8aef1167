"""An operation of a person's own, written over Ops: its value and gradient in every framework."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lockstep as ls

from .case import draw
from .running import TOLERANCE, assert_near

X = draw(3, 4)


def softplus_of_pairs(ops: Any, a: Any, b: Any) -> Any:
    """log(1 + exp(a + b)), without overflow."""
    x = a + b
    return ops.relu(x) + ops.log(1 + ops.exp(-ops.abs(x)))


ls.ops.add("softplus_of_pairs", softplus_of_pairs)


def test_value_and_gradient_are_those_of_the_formula(ops: Any, precision: str) -> None:
    """d log(1 + exp(x)) = dx / (1 + exp(-x))."""

    def total(w: dict[str, Any], b: Any) -> tuple[Any, Any]:
        out = ops.softplus_of_pairs(w["a"], b)
        return ops.sum(out), out

    b = np.float64(0.25)
    (_, out), grads = ops.value_and_grad(total)({"a": ops.asarray(X)}, ops.asarray(b))
    assert_near(ops.to_numpy(out), np.log1p(np.exp(X + b)), TOLERANCE[precision])
    assert_near(ops.to_numpy(grads["a"]), 1 / (1 + np.exp(-X - b)), TOLERANCE[precision])


def test_what_is_no_operation_is_refused(ops: Any) -> None:
    with pytest.raises(AttributeError, match="Ops has no 'softminus'"):
        _ = ops.softminus
    x = ops.asarray(X)
    with pytest.raises(AttributeError, match=r"use ops.softplus_of_pairs\(x\)"):
        _ = x.softplus_of_pairs
    with pytest.raises(AttributeError, match=r"see lockstep/ops\.py"):
        _ = x.softminus
