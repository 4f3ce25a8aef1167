"""The convolution that Flax's layers take: values and gradients of XLA's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed here")
from jax import lax  # noqa: E402

from lockstep.frameworks.jax.fused import WIDEST, convolution  # noqa: E402

NUMBERS = ("NHWC", "HWIO", "NHWC")
# image (height, width), kernel, padding of both axes
CASES = [
    ((6, 6), (3, 3), ((0, 0), (0, 0))),
    ((7, 5), (5, 3), ((2, 2), (1, 0))),
    ((4, 4), (4, 4), ((0, 0), (0, 0))),
    ((3, 6), (2, 1), ((0, 1), (2, 2))),
]


def arrays(size: tuple[int, int], kernel: tuple[int, int]) -> tuple[Any, Any]:
    chance = np.random.default_rng(0)
    x = chance.normal(size=(2, *size, 3)).astype(np.float32)
    return x, chance.normal(size=(*kernel, 3, 4)).astype(np.float32)


def products(function: Any) -> int:
    return str(jax.make_jaxpr(function)(*arrays((6, 6), (3, 3)))).count("dot_general")


@pytest.mark.parametrize(("size", "kernel", "padding"), CASES)
def test_values_and_gradients(size: Any, kernel: Any, padding: Any) -> None:
    x, w = arrays(size, kernel)

    def ours(x: Any, w: Any) -> Any:
        return convolution(x, w, (1, 1), padding, dimension_numbers=NUMBERS)

    def theirs(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(x, w, (1, 1), padding, dimension_numbers=NUMBERS)

    y, back = jax.vjp(ours, x, w)
    expected, expected_back = jax.vjp(theirs, x, w)
    cotangent = np.random.default_rng(1).normal(size=expected.shape).astype(np.float32)
    for one, other in zip(
        (y, *back(cotangent)), (expected, *expected_back(cotangent)), strict=True
    ):
        # sums of up to 100 products, in another order
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5 * float(abs(other).max()))


def test_what_it_does_not_compute_is_left_to_xla() -> None:
    zero = ((0, 0), (0, 0))
    plain = {"dimension_numbers": NUMBERS}
    assert products(lambda x, w: convolution(x, w, (1, 1), zero, **plain)) == 1
    wide = ((0, 0), (WIDEST, 0))
    dilated = plain | {"rhs_dilation": (2, 2)}
    for strides, padding, settings in (
        ((2, 2), zero, plain),
        ((1, 1), "SAME", plain),
        ((1, 1), zero, dilated),
        ((1, 1), wide, plain),
    ):
        assert products(lambda x, w: convolution(x, w, strides, padding, **settings)) == 0  # noqa: B023
