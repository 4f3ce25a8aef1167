"""scan, stop_gradient and value_and_grad: what the contract says of them beside their values."""

from __future__ import annotations

from typing import Any

import numpy as np

from .case import TIED_WINDOWS, TIES, draw, exact
from .running import TOLERANCE, assert_near


def _weights(ops: Any) -> dict[str, Any]:
    return {
        "w": ops.asarray(draw(3, 3)),
        "h": ops.asarray(draw(2, 3)),
        "c": ops.asarray(draw(2, 3)),
    }


def _step(ops: Any, weights: dict[str, Any]) -> Any:
    def step(carry: dict[str, Any], x: Any) -> tuple[dict[str, Any], Any]:
        h = ops.tanh(x + carry["h"] @ weights["w"])
        return {"h": h, "c": carry["c"] * 0.5 + h}, h * carry["c"]

    return step


def _loop(ops: Any, step: Any, carry: Any, xs: Any) -> tuple[Any, Any]:
    ys = []
    for t in range(xs.shape[0]):
        carry, y = step(carry, xs[t])
        ys.append(y)
    return carry, ops.stack(ys)


def test_scan_over_a_dict_equals_a_loop(ops: Any, precision: str) -> None:
    xs = ops.asarray(draw(6, 2, 3))

    def through(scan: Any) -> Any:
        def scalar(weights: dict[str, Any], xs: Any) -> tuple[Any, Any]:
            start = {"h": weights["h"], "c": weights["c"]}
            carry, ys = scan(_step(ops, weights), start, xs)
            return ops.sum(ys * ys) + ops.sum(carry["h"] * carry["c"]), (carry, ys)

        return ops.value_and_grad(scalar)(_weights(ops), xs)

    (value, (carry, ys)), grads = through(ops.scan)
    (loop_value, (loop_carry, loop_ys)), loop_grads = through(lambda *a: _loop(ops, *a))
    assert ys.shape == (6, 2, 3)
    # compiled as one, a loop may round otherwise: a tolerance, not bit equality
    pairs = [(value, loop_value), (ys, loop_ys)]
    pairs += [(carry[name], loop_carry[name]) for name in ("h", "c")]
    pairs += [(grads[name], loop_grads[name]) for name in ("w", "h", "c")]
    for scanned, looped in pairs:
        assert np.abs(ops.to_numpy(looped)).max() > 0
        assert_near(ops.to_numpy(scanned), ops.to_numpy(looped), TOLERANCE[precision])


def test_scan_without_gradients_equals_a_loop(ops: Any, precision: str) -> None:
    weights, xs = _weights(ops), ops.asarray(draw(6, 2, 3))
    start = {"h": weights["h"], "c": weights["c"]}
    carry, ys = ops.scan(_step(ops, weights), start, xs)
    loop_carry, loop_ys = _loop(ops, _step(ops, weights), start, xs)
    assert_near(ops.to_numpy(ys), ops.to_numpy(loop_ys), TOLERANCE[precision])
    for name in ("h", "c"):
        expected = ops.to_numpy(loop_carry[name])
        assert_near(ops.to_numpy(carry[name]), expected, TOLERANCE[precision])


def test_an_unused_weight_has_a_gradient_of_zeros(ops: Any, precision: str) -> None:
    weights = {"used": ops.asarray(draw(2, 3)), "unused": ops.asarray(draw(4))}
    (value, _), grads = ops.value_and_grad(lambda w: (ops.sum(w["used"]), None))(weights)
    assert_near(ops.to_numpy(value), draw(2, 3).sum(), TOLERANCE[precision])
    assert set(grads) == {"used", "unused"}
    np.testing.assert_array_equal(ops.to_numpy(grads["used"]), np.ones((2, 3)))
    np.testing.assert_array_equal(ops.to_numpy(grads["unused"]), np.zeros(4))
    assert ops.to_numpy(grads["unused"]).dtype == precision


def test_what_comes_back_is_detached(ops: Any) -> None:
    x = draw(2, 3)

    def function(weights: dict[str, Any]) -> tuple[Any, Any]:
        doubled = 2.0 * weights["w"]
        return ops.sum(doubled), {"pair": (doubled, {"deep": doubled}), "number": 3}

    (value, aux), grads = ops.value_and_grad(function)({"w": ops.asarray(x)})
    arrays = [value, aux["pair"][0], aux["pair"][1]["deep"], grads["w"]]
    plain = ops.asarray(x)
    for array in arrays:
        assert type(array) is type(plain)
        assert not getattr(array, "requires_grad", False)
    for array in arrays[1:3]:
        np.testing.assert_array_equal(ops.to_numpy(array), ops.to_numpy(2.0 * plain))
    assert aux["number"] == 3


def test_weights_can_be_used_again_after_a_gradient(ops: Any) -> None:
    weights = {"w": ops.asarray(draw(2, 3))}
    gradient = ops.value_and_grad(lambda w: (ops.sum(w["w"] * w["w"]), w["w"]))
    first = ops.to_numpy(gradient(weights)[1]["w"]).copy()
    (_, aux), second = gradient(weights)
    np.testing.assert_array_equal(first, 2 * ops.to_numpy(weights["w"]))
    np.testing.assert_array_equal(ops.to_numpy(second["w"]), first)
    np.testing.assert_array_equal(ops.to_numpy(aux), ops.to_numpy(weights["w"]))


def test_no_gradient_passes_stop_gradient(ops: Any) -> None:
    a = exact(draw(2, 3))
    weights = {"a": ops.asarray(a), "b": ops.asarray(draw(2, 3, seed=1))}

    def product(w: dict[str, Any]) -> tuple[Any, Any]:
        return ops.sum(ops.stop_gradient(w["a"]) * w["b"]), None

    grads = ops.value_and_grad(product)(weights)[1]
    np.testing.assert_array_equal(ops.to_numpy(grads["a"]), np.zeros((2, 3)))
    np.testing.assert_array_equal(ops.to_numpy(grads["b"]), a)


def test_at_a_kink_the_gradient_is_what_the_contract_says(ops: Any) -> None:
    """Inputs of zeros and ties, all whole numbers, so that every comparison is exact."""
    conventions: dict[str, tuple[Any, np.ndarray, Any]] = {
        "abs": (ops.abs, TIES, np.sign(TIES)),
        "relu": (ops.relu, TIES, TIES > 0),
        "max": (
            lambda x: ops.max(x, axis=1),
            TIES,
            [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]],
        ),
        "max_pool2d": (
            lambda x: ops.max_pool2d(x[None, None], 2),
            TIED_WINDOWS,
            [[0, 1, 1, 0], [0, 0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]],
        ),
    }
    for name, (call, x, expected) in conventions.items():
        slope = ops.value_and_grad(lambda w, call=call: (ops.sum(call(w["x"])), None))
        gradient = ops.to_numpy(slope({"x": ops.asarray(x)})[1]["x"])
        np.testing.assert_array_equal(gradient, expected, err_msg=name)
