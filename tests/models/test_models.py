"""Every model against plain loops over the formula, and the shapes and sizes the chapters give."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from lockstep import models
from lockstep.errors import InputError
from lockstep.frameworks.numpy.ops import NumpyOps
from lockstep.models.recurrent import gru_layer, one_gate_layer, rnn_layer
from lockstep.spec import GRU, MLP, RNN, LeNet, Linear, OneGate, OwnModel, Softmax

OPS = NumpyOps("float64")
IMAGE = (28, 28)
# one formula in another order of sums: some tens of roundings of 1.1e-16
RTOL = 1e-12


def chance(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def apply(model: models.Model, w: dict[str, Any], x: np.ndarray, carry: Any = None) -> Any:
    return model.apply(OPS, w, x, carry or {})


# --- feed-forward -------------------------------------------------------------------------------


def test_linear_is_x_w_plus_b() -> None:
    model = models.build(Linear(), (3,), 2)
    w = {"w": chance().normal(size=(3, 2)), "b": np.array([0.5, -2.0])}
    x = chance(1).normal(size=(4, 3))
    expected = [
        [sum(x[i, k] * w["w"][k, j] for k in range(3)) + w["b"][j] for j in range(2)]
        for i in range(4)
    ]
    outputs, carry = apply(model, w, x)
    np.testing.assert_allclose(outputs, expected, rtol=RTOL)
    assert carry == {}


def test_softmax_flattens_images_row_by_row() -> None:
    model = models.build(Softmax(), IMAGE, 10)
    w = {"w": np.zeros((784, 10)), "b": np.zeros(10)}
    w["w"][28 * 2 + 5, 3] = 2.0
    x = np.zeros((1, 28, 28))
    x[0, 2, 5] = 0.25
    outputs, _ = apply(model, w, x)
    assert outputs.tolist() == [[0, 0, 0, 0.5, 0, 0, 0, 0, 0, 0]]


def test_mlp_has_relu_between_layers_and_none_at_the_end() -> None:
    model = models.build(MLP((2,)), (1,), 1)
    w = {
        "w1": np.array([[1.0, -1.0]]),
        "b1": np.zeros(2),
        "w2": np.array([[1.0], [10.0]]),
        "b2": np.array([-5.0]),
    }
    outputs, _ = apply(model, w, np.array([[2.0], [-3.0]]))
    assert outputs.tolist() == [[2.0 - 5.0], [30.0 - 5.0]]


# --- LeNet --------------------------------------------------------------------------------------


def convolve(x: np.ndarray, w: np.ndarray, b: np.ndarray, padding: int) -> np.ndarray:
    x = np.pad(x, ((0, 0), (padding, padding), (padding, padding)))
    height = x.shape[1] - w.shape[2] + 1
    out = np.empty((len(w), height, height))
    for o in range(len(w)):
        for i in range(height):
            for j in range(height):
                window = x[:, i : i + w.shape[2], j : j + w.shape[3]]
                out[o, i, j] = (window * w[o]).sum() + b[o]
    return out


def pool(x: np.ndarray, reduce: Any) -> np.ndarray:
    half = x.shape[1] // 2
    out = np.empty((len(x), half, half))
    for i in range(half):
        for j in range(half):
            out[:, i, j] = reduce(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2], axis=(1, 2))
    return out


@pytest.mark.parametrize("pooling", ["max", "avg"])
def test_lenet_is_the_chapters(pooling: str) -> None:
    """ReLU stands before pooling, as the chapters have it; the model may exchange the two."""
    model = models.build(LeNet(pooling), IMAGE, 10)
    w = {n: chance(len(n)).normal(size=v.shape) / 8 for n, v in model.initial_weights(0).items()}
    x = chance(2).uniform(size=(2, 28, 28))
    reduce = np.max if pooling == "max" else np.mean
    expected = []
    for image in x:
        h = convolve(image[None], w["conv1_w"], w["conv1_b"], 2 if pooling == "max" else 0)
        h = pool(np.maximum(h, 0), reduce)
        h = pool(np.maximum(convolve(h, w["conv2_w"], w["conv2_b"], 0), 0), reduce)
        v = h.reshape(-1)
        names = ["fc1", "fc2", "fc3"] if pooling == "max" else ["fc1", "fc2"]
        for name in names:
            v = v @ w[f"{name}_w"] + w[f"{name}_b"]
            v = v if name == names[-1] else np.maximum(v, 0)
        expected.append(v)
    np.testing.assert_allclose(apply(model, w, x)[0], expected, rtol=RTOL)


@pytest.mark.parametrize(
    ("part", "shape", "outputs", "count"),
    [
        (LeNet("max"), IMAGE, 10, 156 + 2416 + 48120 + 10164 + 850),
        (LeNet("avg"), IMAGE, 10, 200 + 25050 + 102528 + 1290),
        (Linear(), (5,), 1, 6),
        (Softmax(), IMAGE, 10, 7850),
        (MLP((256,)), IMAGE, 10, 784 * 256 + 256 + 2570),
        (RNN(256), (), 28, 28 * 256 + 256 * 256 + 256 + 256 * 28 + 28),
        (GRU(256, "before"), (), 28, 3 * (28 * 256 + 256 * 256 + 256) + 256 * 28 + 28),
        (GRU(256, "after"), (), 28, 3 * (28 * 256 + 256 * 256 + 512) + 256 * 28 + 28),
        (OneGate(256), (), 28, 2 * (28 * 256 + 256 * 256 + 256) + 256 * 28 + 28),
    ],
)
def test_numbers_of_parameters(part: Any, shape: tuple[int, ...], outputs: int, count: int) -> None:
    weights = models.build(part, shape, outputs).initial_weights(0)
    assert sum(value.size for value in weights.values()) == count


# --- recurrent ----------------------------------------------------------------------------------

T, B, H, V = 4, 2, 3, 5


def gru_by_hand(p: np.ndarray, h0: np.ndarray, w_h: np.ndarray, b_h: np.ndarray | None) -> Any:
    """Number by number: for each step, sequence and unit."""
    states, h = [], h0.copy()
    for t in range(len(p)):
        new = np.empty_like(h)
        for b in range(len(h)):

            def product(vector: np.ndarray, gate: int, j: int) -> float:
                return sum(vector[k] * w_h[k, gate * H + j] for k in range(H))

            def second(gate: int, j: int) -> float:
                return 0.0 if b_h is None else b_h[gate * H + j]

            z, r = (
                [
                    sigmoid(p[t, b, gate * H + j] + product(h[b], gate, j) + second(gate, j))
                    for j in range(H)
                ]
                for gate in (0, 1)
            )
            for j in range(H):
                if b_h is None:
                    inner = product(np.array(r) * h[b], 2, j)
                else:
                    inner = r[j] * (product(h[b], 2, j) + second(2, j))
                candidate = math.tanh(p[t, b, 2 * H + j] + inner)
                new[b, j] = z[j] * h[b, j] + (1 - z[j]) * candidate
        h = new
        states.append(h)
    return np.array(states), h


@pytest.mark.parametrize("reset", ["before", "after"])
def test_gru_layer_by_hand(reset: str) -> None:
    draw = chance(3).normal
    p, h, w_h = draw(size=(T, B, 3 * H)), draw(size=(B, H)), draw(size=(H, 3 * H))
    b_h = draw(size=3 * H) if reset == "after" else None
    states, last = gru_layer(OPS, p, h, w_h, b_h)
    expected, expected_last = gru_by_hand(p, h, w_h, b_h)
    np.testing.assert_allclose(states, expected, rtol=RTOL)
    np.testing.assert_allclose(last, expected_last, rtol=RTOL)
    np.testing.assert_array_equal(states[-1], last)


def test_gru_resets_are_different_models() -> None:
    draw = chance(3).normal
    p, h, w_h = draw(size=(T, B, 3 * H)), draw(size=(B, H)), draw(size=(H, 3 * H))
    before, _ = gru_layer(OPS, p, h, w_h)
    after, _ = gru_layer(OPS, p, h, w_h, np.zeros(3 * H))
    assert abs(before - after).max() > 0.01


def test_gru_is_the_chapters_equations() -> None:
    """R, Z, candidate and new state as separate matrices, one-hot inputs, then the output layer."""
    model = models.build(GRU(H, "before"), (), V)
    w = {n: chance(len(n)).normal(size=v.shape) for n, v in model.initial_weights(0).items()}
    x = chance(4).integers(0, V, size=(T, B))
    h = chance(5).normal(size=(B, H))
    xz, xr, xh = np.split(w["w_x"], 3, axis=1)
    hz, hr, hh = np.split(w["w_h"], 3, axis=1)
    bz, br, bh = np.split(w["b"], 3)
    logistic = np.vectorize(sigmoid)
    state, expected = h, []
    for t in range(T):
        hot = np.eye(V)[x[t]]
        z = logistic(hot @ xz + state @ hz + bz)
        r = logistic(hot @ xr + state @ hr + br)
        candidate = np.tanh(hot @ xh + (r * state) @ hh + bh)
        state = z * state + (1 - z) * candidate
        expected.append(state @ w["w_out"] + w["b_out"])
    scores, carry = apply(model, w, x, {"h": h})
    np.testing.assert_allclose(scores, expected, rtol=RTOL)
    np.testing.assert_allclose(carry["h"], state, rtol=RTOL)


def test_rnn_by_hand() -> None:
    draw = chance(6).normal
    p, h, w_h = draw(size=(T, B, H)), draw(size=(B, H)), draw(size=(H, H))
    states, last = rnn_layer(OPS, p, h, w_h)
    state = h
    for t in range(T):
        state = np.array(
            [
                [
                    math.tanh(p[t, b, j] + sum(state[b, k] * w_h[k, j] for k in range(H)))
                    for j in range(H)
                ]
                for b in range(B)
            ]
        )
        np.testing.assert_allclose(states[t], state, rtol=RTOL)
    np.testing.assert_allclose(last, state, rtol=RTOL)


@pytest.mark.parametrize("gate", ["update", "reset"])
def test_one_gate_is_the_gru_with_the_other_gate_held(gate: str) -> None:
    """The gate that does not act is held at R = 1 or Z = 0 by an input of 50 and -800."""
    draw = chance(8).normal
    p, h, w_h = draw(size=(T, B, 2 * H)), draw(size=(B, H)), draw(size=(H, 2 * H))
    held = np.full((T, B, H), 50.0 if gate == "update" else -800.0)
    acting, candidate = p[..., :H], p[..., H:]
    pair = (acting, held) if gate == "update" else (held, acting)
    nothing = np.zeros((H, H))
    columns = (w_h[:, :H], nothing) if gate == "update" else (nothing, w_h[:, :H])
    with np.errstate(over="ignore"):
        expected, _ = gru_layer(
            OPS, np.concatenate([*pair, candidate], axis=2), h, np.hstack([*columns, w_h[:, H:]])
        )
    states, last = one_gate_layer(OPS, p, h, w_h, gate)
    np.testing.assert_allclose(states, expected, rtol=RTOL)
    np.testing.assert_array_equal(states[-1], last)


@pytest.mark.parametrize("gate", ["update", "reset"])
def test_one_gate_by_hand(gate: str) -> None:
    draw = chance(9).normal
    p, h, w_h = draw(size=(T, B, 2 * H)), draw(size=(B, H)), draw(size=(H, 2 * H))
    states, _ = one_gate_layer(OPS, p, h, w_h, gate)
    state = h
    for t in range(T):
        new = np.empty_like(state)
        for b in range(B):
            dots = [sum(state[b, k] * w_h[k, j] for k in range(H)) for j in range(2 * H)]
            g = [sigmoid(p[t, b, j] + dots[j]) for j in range(H)]
            reset = [sum(g[k] * state[b, k] * w_h[k, H + j] for k in range(H)) for j in range(H)]
            for j in range(H):
                if gate == "update":
                    candidate = math.tanh(p[t, b, H + j] + dots[H + j])
                    new[b, j] = g[j] * state[b, j] + (1 - g[j]) * candidate
                else:
                    new[b, j] = math.tanh(p[t, b, H + j] + reset[j])
        state = new
        np.testing.assert_allclose(states[t], state, rtol=RTOL)


@pytest.mark.parametrize("gate", ["update", "reset"])
def test_gradients_of_one_gate_are_central_differences(gate: str) -> None:
    model = models.build(OneGate(H, gate), (), V)
    w = {n: chance(len(n)).normal(size=v.shape) for n, v in model.initial_weights(0).items()}
    x, weights = chance(10).integers(0, V, size=(T, B)), chance(11).normal(size=(T, B, V))
    start = {"h": chance(12).normal(size=(B, H))}

    def loss(w: dict[str, Any]) -> Any:
        scores, carry = model.apply(OPS, w, x, start)
        return OPS.sum(scores * weights) + OPS.sum(carry["h"]), carry

    _, grads = OPS.value_and_grad(loss)(w)
    for name, value in w.items():
        for at in np.ndindex(value.shape):
            ends = []
            for sign in (1, -1):
                moved = {n: v.copy() for n, v in w.items()}
                moved[name][at] += sign * 1e-6
                ends.append(float(loss(moved)[0]))
            # central differences: 1e-12 of curvature, 1e-16 / 1e-6 of rounding
            expected = (ends[0] - ends[1]) / 2e-6
            assert grads[name][at] == pytest.approx(expected, rel=1e-6, abs=1e-8), (name, at)


@pytest.mark.parametrize(
    "part", [RNN(H), GRU(H, "before"), GRU(H, "after"), OneGate(H), OneGate(H, "reset")]
)
def test_a_text_may_be_cut_where_the_state_is_carried(part: Any) -> None:
    model = models.build(part, (), V)
    w = {n: chance(len(n)).normal(size=v.shape) for n, v in model.initial_weights(0).items()}
    x = chance(7).integers(0, V, size=(6, B))
    start = {"h": np.zeros((B, H))}
    assert model.carry_shapes(B) == {"h": (B, H)}
    whole, end = apply(model, w, x, start)
    first, middle = apply(model, w, x[:2], start)
    second, last = apply(model, w, x[2:], middle)
    np.testing.assert_allclose(np.concatenate([first, second]), whole, rtol=RTOL)
    np.testing.assert_allclose(last["h"], end["h"], rtol=RTOL)


# --- a model and data that do not fit -----------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "shape", "outputs", "message"),
    [
        (GRU(), (5,), 1, r"model\.kind = 'gru': needs text.*Choose rnn, gru or one-gate for text"),
        (RNN(), IMAGE, 10, r"model\.kind = 'rnn': needs text"),
        (Linear(), (), 28, r"model\.kind = 'linear': needs examples.*Choose rnn, gru or one-gate"),
        (LeNet(), (5,), 1, r"model\.kind = 'lenet': needs images\. Use mlp"),
        (LeNet(), (32, 32), 1, r"model\.kind = 'lenet': needs classes\. Use mlp"),
        (LeNet(), (3, 9, 40), 10, r"'lenet': its convolutions leave nothing of images of 9 x 40"),
        (Softmax(), (5,), 1, r"model\.kind = 'softmax': needs classes.*Use linear"),
        (OwnModel(), (5,), 1, r"model\.kind = 'own': has no built-in model"),
        (OwnModel(), (), 28, r"model\.kind = 'own': has no built-in model"),
    ],
)
def test_models_that_do_not_fit(
    part: Any, shape: tuple[int, ...], outputs: int, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        models.build(part, shape, outputs)
