"""Every update rule against its formula written out, against torch.optim and against Optax."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lockstep import optimizers
from lockstep.data.random import generator
from lockstep.frameworks import registry
from lockstep.frameworks.numpy.ops import NumpyOps
from lockstep.spec import SGD, SGLD, Adadelta, Adagrad, Adam, AdamW, Momentum, Nesterov, RMSprop
from lockstep.spec.parts import OPTIMIZERS

OPS = NumpyOps("float64")
STEPS = 12
LRS = np.array([0.1 / (1 + t) for t in range(STEPS)])
# a dozen steps of a handful of float64 operations each, in another order
RTOL = 1e-12

PARTS = {
    "sgd": SGD(),
    "sgd, decay": SGD(weight_decay=0.1),
    "momentum": Momentum(momentum=0.8),
    "momentum, decay": Momentum(weight_decay=0.1),
    "nesterov": Nesterov(momentum=0.8),
    "nesterov, decay": Nesterov(weight_decay=0.1),
    "adagrad": Adagrad(),
    "adagrad, decay": Adagrad(weight_decay=0.1, eps=1e-3),
    "rmsprop": RMSprop(),
    "rmsprop, decay": RMSprop(weight_decay=0.1, decay=0.9, eps=1e-3),
    "adadelta": Adadelta(),
    "adadelta, decay": Adadelta(weight_decay=0.1, decay=0.95, eps=1e-3),
    "adam": Adam(),
    "adam, decay": Adam(weight_decay=0.1, beta1=0.5, beta2=0.9, eps=1e-3),
    "adamw": AdamW(),
    "adamw, decay": AdamW(weight_decay=0.1, beta1=0.5, beta2=0.9, eps=1e-3),
    "sgld": SGLD(),
    "sgld, decay": SGLD(weight_decay=0.1, temperature=0.5),
}
IN_LIBRARIES = [case for case, part in PARTS.items() if part.kind != "sgld"]
SEED = 3  # of noise


def draws(seed: int = 0) -> tuple[dict[str, np.ndarray], list[dict[str, np.ndarray]]]:
    """Weights of two shapes and a gradient for each step; one entry never has a gradient."""
    chance = np.random.default_rng(seed)
    shapes = {"w": (3, 2), "b": (4,)}
    weights = {name: chance.normal(size=shape) for name, shape in shapes.items()}
    grads = [{n: chance.normal(size=s) for n, s in shapes.items()} for _ in range(STEPS)]
    for step in grads:
        step["b"][0] = 0.0
    return weights, grads


def ours(part: Any, ops: Any = OPS, seed: int = 0) -> dict[str, np.ndarray]:
    """The weights after all steps by the rule under test."""
    start, grads = draws(seed)
    weights = {name: ops.asarray(value) for name, value in start.items()}
    slots = {
        f"{slot}/{name}": ops.zeros(value.shape)
        for slot in optimizers.slot_names(part)
        for name, value in start.items()
    }
    # in two calls, as a run may be cut
    numbers: list[Any] = [
        *optimizers.step_numbers(part, LRS[:5], 0).tolist(),
        *optimizers.step_numbers(part, LRS[5:], 5).tolist(),
    ]
    shapes = {name: value.shape for name, value in start.items()}
    for first, lrs in ((0, LRS[:5]), (5, LRS[5:])):
        noise = optimizers.step_noise(part, shapes, SEED, lrs, first)
        for i in range(len(lrs)):
            given = {name: ops.asarray(block[i]) for name, block in noise.items()}
            numbers[first + i] += [given] if given else []
    for t in range(STEPS):
        step = {name: ops.asarray(value) for name, value in grads[t].items()}
        weights, slots = optimizers.update(ops, part, weights, step, slots, numbers[t])
    return {name: ops.to_numpy(value) for name, value in weights.items()}


# --- the formulas, one number at a time -----------------------------------------------------------


def sgd(o: SGD, w: float, grads: list[float]) -> float:
    for t, g in enumerate(grads):
        w = w - LRS[t] * (g + o.weight_decay * w)
    return w


def sgld(o: SGLD, w: float, grads: list[float], normal: list[float]) -> float:
    for t, g in enumerate(grads):
        w = (
            w
            - LRS[t] * (g + o.weight_decay * w)
            + math.sqrt(2 * LRS[t] * o.temperature) * normal[t]
        )
    return w


def momentum(o: Momentum, w: float, grads: list[float]) -> float:
    v = 0.0
    for t, g in enumerate(grads):
        v = o.momentum * v + g + o.weight_decay * w
        w = w - LRS[t] * v
    return w


def nesterov(o: Nesterov, w: float, grads: list[float]) -> float:
    v = 0.0
    for t, g in enumerate(grads):
        g = g + o.weight_decay * w
        v = o.momentum * v + g
        w = w - LRS[t] * (g + o.momentum * v)
    return w


def adagrad(o: Adagrad, w: float, grads: list[float]) -> float:
    s = 0.0
    for t, g in enumerate(grads):
        g = g + o.weight_decay * w
        s = s + g**2
        w = w - LRS[t] * g / (math.sqrt(s) + o.eps)
    return w


def rmsprop(o: RMSprop, w: float, grads: list[float]) -> float:
    s = 0.0
    for t, g in enumerate(grads):
        g = g + o.weight_decay * w
        s = o.decay * s + (1 - o.decay) * g**2
        w = w - LRS[t] * g / (math.sqrt(s) + o.eps)
    return w


def adadelta(o: Adadelta, w: float, grads: list[float]) -> float:
    s = v = 0.0
    for t, g in enumerate(grads):
        g = g + o.weight_decay * w
        s = o.decay * s + (1 - o.decay) * g**2
        u = math.sqrt(v + o.eps) / math.sqrt(s + o.eps) * g
        v = o.decay * v + (1 - o.decay) * u**2
        w = w - LRS[t] * u
    return w


def adam(o: Adam, w: float, grads: list[float]) -> float:
    m = s = 0.0
    for t, g in enumerate(grads):
        g = g + o.weight_decay * w
        m = o.beta1 * m + (1 - o.beta1) * g
        s = o.beta2 * s + (1 - o.beta2) * g**2
        m_hat, s_hat = m / (1 - o.beta1 ** (t + 1)), s / (1 - o.beta2 ** (t + 1))
        w = w - LRS[t] * m_hat / (math.sqrt(s_hat) + o.eps)
    return w


def adamw(o: AdamW, w: float, grads: list[float]) -> float:
    m = s = 0.0
    for t, g in enumerate(grads):
        m = o.beta1 * m + (1 - o.beta1) * g
        s = o.beta2 * s + (1 - o.beta2) * g**2
        m_hat, s_hat = m / (1 - o.beta1 ** (t + 1)), s / (1 - o.beta2 ** (t + 1))
        w = w - LRS[t] * (m_hat / (math.sqrt(s_hat) + o.eps) + o.weight_decay * w)
    return w


FORMULAS: dict[str, Callable[..., float]] = {
    function.__name__: function
    for function in (sgd, sgld, momentum, nesterov, adagrad, rmsprop, adadelta, adam, adamw)
}


def normal_draws() -> list[dict[str, np.ndarray]]:
    """n of each step: the ten entries of w (3, 2) and b (4,) side by side, 3,276 steps a block."""
    table = generator(SEED, "optimizer noise", 0).standard_normal((2**15 // 10, 10))[:STEPS]
    return [{"w": row[:6].reshape(3, 2), "b": row[6:]} for row in table]


def test_every_kind_has_a_rule_and_a_formula() -> None:
    assert set(optimizers.RULES) == set(OPTIMIZERS) == set(FORMULAS)


@pytest.mark.parametrize("case", PARTS)
def test_rules_are_their_formulas(case: str) -> None:
    part = PARTS[case]
    weights, grads = draws()
    for name, got in ours(part).items():
        expected = np.empty_like(got)
        for at in np.ndindex(got.shape):
            of_one = [[step[name][at] for step in grads]]
            if part.kind == "sgld":
                of_one.append([step[name][at] for step in normal_draws()])
            expected[at] = FORMULAS[part.kind](part, weights[name][at], *of_one)
        np.testing.assert_allclose(got, expected, rtol=RTOL)
        assert abs(got - weights[name]).max() > 1e-4  # it moved


@pytest.mark.parametrize("framework", [n for n in registry.installed() if n != "numpy"])
@pytest.mark.parametrize("case", PARTS)
def test_rules_are_the_same_in_every_framework(case: str, framework: str) -> None:
    got = ours(PARTS[case], registry.get(framework).kernels("float64"))
    for name, expected in ours(PARTS[case]).items():
        np.testing.assert_allclose(got[name], expected, rtol=RTOL)


def test_rules_hold_in_float32() -> None:
    """Adam's corrections are the numbers that float32 would spoil: 1 - 0.999^t."""
    got = ours(Adam(), NumpyOps("float32"))
    for name, expected in ours(Adam()).items():
        assert got[name].dtype == np.float32
        # a dozen steps of roundings of 6e-8 on weights near 1
        np.testing.assert_allclose(got[name], expected, rtol=0, atol=2e-6)


# --- libraries ------------------------------------------------------------------------------------


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize("case", IN_LIBRARIES)
def test_torch_optim_is_the_same(case: str) -> None:
    import torch

    o: Any = PARTS[case]
    weights, grads = draws()
    parameters = {n: torch.nn.Parameter(torch.tensor(v)) for n, v in weights.items()}
    common = {"lr": 1.0, "weight_decay": o.weight_decay}
    make: dict[str, Callable[..., torch.optim.Optimizer]] = {
        "sgd": lambda p: torch.optim.SGD(p, **common),
        "momentum": lambda p: torch.optim.SGD(p, momentum=o.momentum, **common),
        "nesterov": lambda p: torch.optim.SGD(p, momentum=o.momentum, nesterov=True, **common),
        "adagrad": lambda p: torch.optim.Adagrad(p, eps=o.eps, **common),
        "rmsprop": lambda p: torch.optim.RMSprop(p, alpha=o.decay, eps=o.eps, **common),
        "adadelta": lambda p: torch.optim.Adadelta(p, rho=o.decay, eps=o.eps, **common),
        "adam": lambda p: torch.optim.Adam(p, betas=(o.beta1, o.beta2), eps=o.eps, **common),
        "adamw": lambda p: torch.optim.AdamW(p, betas=(o.beta1, o.beta2), eps=o.eps, **common),
    }
    optimizer = make[o.kind](parameters.values())
    for t in range(STEPS):
        for name, parameter in parameters.items():
            parameter.grad = torch.tensor(grads[t][name])
        optimizer.param_groups[0]["lr"] = float(LRS[t])
        optimizer.step()
    for name, got in ours(o).items():
        np.testing.assert_allclose(got, parameters[name].detach().numpy(), rtol=RTOL)


@pytest.mark.skipif(importlib.util.find_spec("optax") is None, reason="optax is not installed")
@pytest.mark.parametrize("case", IN_LIBRARIES)
def test_optax_is_the_same(case: str) -> None:
    """But for Adagrad, where Optax has sqrt(s + eps) for our sqrt(s) + eps: see below."""
    import jax
    import optax

    jax.config.update("jax_enable_x64", True)
    o: Any = PARTS[case]
    make: dict[str, Callable[[], Any]] = {
        "sgd": lambda: optax.sgd(1.0),
        "momentum": lambda: optax.sgd(1.0, momentum=o.momentum),
        "nesterov": lambda: optax.sgd(1.0, momentum=o.momentum, nesterov=True),
        "adagrad": lambda: optax.adagrad(1.0, initial_accumulator_value=0.0, eps=o.eps**2),
        "rmsprop": lambda: optax.rmsprop(1.0, decay=o.decay, eps=o.eps, eps_in_sqrt=False),
        "adadelta": lambda: optax.adadelta(1.0, rho=o.decay, eps=o.eps),
        "adam": lambda: optax.adam(1.0, o.beta1, o.beta2, o.eps),
        "adamw": lambda: optax.adamw(1.0, o.beta1, o.beta2, o.eps, weight_decay=o.weight_decay),
    }
    rule = make[o.kind]()
    if o.weight_decay and o.kind != "adamw":
        rule = optax.chain(optax.add_decayed_weights(o.weight_decay), rule)
    weights, grads = draws()
    state = rule.init(weights)
    for t in range(STEPS):
        updates, state = rule.update(grads[t], state, weights)
        weights = {n: w + LRS[t] * np.asarray(updates[n]) for n, w in weights.items()}
    # sqrt(s) + eps and sqrt(s + eps^2) differ by less than eps of at least 0.01 here, 12 times
    tolerance = {"rtol": 0, "atol": o.eps * 100} if o.kind == "adagrad" else {"rtol": RTOL}
    for name, got in ours(o).items():
        np.testing.assert_allclose(got, weights[name], **tolerance)


# --- clipping -------------------------------------------------------------------------------------


def clipped(part: Any, *grads: list[float]) -> tuple[list[list[float]], float]:
    named = {str(i): np.array(g, np.float64) for i, g in enumerate(grads)}
    out, norm = optimizers.clip(OPS, part, named)
    return [out[name].tolist() for name in named], float(norm)


def test_no_clipping_unless_asked() -> None:
    assert clipped(SGD(), [3.0, 0.0], [4.0]) == ([[3.0, 0.0], [4.0]], 5.0)


def test_clipping_by_the_norm_of_all_gradients_together() -> None:
    """g min(1, c / norm): the direction stays."""
    grads, norm = clipped(SGD(clip_norm=1.0), [3.0, 0.0], [-4.0])
    np.testing.assert_allclose(np.concatenate(grads), [0.6, 0.0, -0.8], rtol=1e-15)
    assert norm == 5.0  # the norm before
    assert clipped(SGD(clip_norm=5.0), [3.0, 0.0], [-4.0]) == ([[3.0, 0.0], [-4.0]], 5.0)
    assert clipped(SGD(clip_norm=7.0), [3.0, 0.0], [-4.0]) == ([[3.0, 0.0], [-4.0]], 5.0)


def test_clipping_gradients_that_are_zero() -> None:
    assert clipped(SGD(clip_norm=1.0), [0.0], [0.0, 0.0]) == ([[0.0], [0.0, 0.0]], 0.0)


def test_clipping_by_value() -> None:
    assert clipped(SGD(clip_value=2.0), [3.0, 1.0], [-4.0]) == ([[2.0, 1.0], [-2.0]], math.sqrt(26))


def test_clipping_by_value_comes_before_the_norm() -> None:
    grads, norm = clipped(SGD(clip_value=3.0, clip_norm=1.0), [30.0, 0.0], [4.0])
    np.testing.assert_allclose(np.concatenate(grads), np.array([3, 0, 3]) / math.sqrt(18))
    assert norm == math.hypot(30, 4)


@pytest.mark.parametrize("framework", registry.installed())
def test_clipping_is_that_of_torch(framework: str) -> None:
    torch = pytest.importorskip("torch")
    _, grads = draws()
    tensors = [
        torch.nn.Parameter(torch.zeros(g.shape, dtype=torch.float64)) for g in grads[0].values()
    ]
    for tensor, g in zip(tensors, grads[0].values(), strict=True):
        tensor.grad = torch.tensor(g)
    norm = torch.nn.utils.clip_grad_norm_(tensors, 0.5)
    ops = registry.get(framework).kernels("float64")
    part = SGD(clip_norm=0.5)
    out, own = optimizers.clip(ops, part, {n: ops.asarray(g) for n, g in grads[0].items()})
    np.testing.assert_allclose(float(ops.to_numpy(own)), float(norm), rtol=RTOL)
    for tensor, g in zip(tensors, out.values(), strict=True):
        # torch divides by norm + 1e-6
        np.testing.assert_allclose(ops.to_numpy(g), tensor.grad.numpy(), rtol=2e-6 / float(norm))


# --- the numbers of a step ------------------------------------------------------------------------


@pytest.mark.parametrize("part", [SGD(), Momentum(), Adagrad(), RMSprop(), Adadelta()])
def test_most_rules_need_the_rate_only(part: Any) -> None:
    assert optimizers.step_numbers(part, np.array([0.5, 0.25]), 7).tolist() == [[0.5], [0.25]]


@pytest.mark.parametrize("part", [Adam(), AdamW(beta1=0.5, beta2=0.25)])
def test_adam_needs_its_corrections_too(part: Any) -> None:
    numbers = optimizers.step_numbers(part, np.array([0.5, 0.25]), 7)
    expected = [
        [0.5, 1 - part.beta1**8, 1 - part.beta2**8],
        [0.25, 1 - part.beta1**9, 1 - part.beta2**9],
    ]
    np.testing.assert_allclose(numbers, expected, rtol=1e-14)  # two ways of taking a power
    assert numbers.dtype == np.float64


def test_the_first_step_of_adam_is_the_rate_whatever_the_gradient() -> None:
    numbers = optimizers.step_numbers(Adam(eps=0.0), np.array([0.01]), 0)[0]
    slots = {"mean/w": np.zeros(2), "mean_squares/w": np.zeros(2)}
    grads = {"w": np.array([1e-6, -1e3])}
    new, _ = optimizers.update(OPS, Adam(eps=0.0), {"w": np.zeros(2)}, grads, slots, numbers)
    np.testing.assert_allclose(new["w"], [-0.01, 0.01], rtol=1e-12)


# --- noise ----------------------------------------------------------------------------------------

SHAPES = {"w": (3, 2), "b": (4,)}


@pytest.mark.parametrize("width", [1, 10, 2**15 - 1, 2**15, 2**15 + 1])
def test_noise_is_the_same_however_it_is_asked_for(width: int) -> None:
    """Step by step, in calls, and across the ends of blocks of 2^15 numbers."""
    size, first = max(1, 2**15 // width), max(0, 2**15 // width - 2)
    lrs = np.linspace(0.1, 0.2, 5)
    whole = optimizers.step_noise(SGLD(), {"w": (width,)}, SEED, lrs, first)["w"]
    assert first < size < first + 5
    for cuts in ([5], [1] * 5, [2, 3], [3, 2]):
        at, parts = 0, []
        for count in cuts:
            part = slice(at, at + count)
            noise = optimizers.step_noise(SGLD(), {"w": (width,)}, SEED, lrs[part], first + at)
            parts.append(noise["w"])
            at += count
        np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_noise_is_normal_and_has_its_size() -> None:
    """200,000 draws: mean and variance within five standard errors of 0 and 2 lr T."""
    part, lr = SGLD(temperature=0.25), 0.02
    noise = optimizers.step_noise(part, SHAPES, 0, np.full(20_000, lr), 0)
    values = np.concatenate([block.ravel() for block in noise.values()])
    variance = 2 * lr * part.temperature
    assert abs(values.mean()) < 5 * math.sqrt(variance / len(values))
    assert values.var() == pytest.approx(variance, rel=5 * math.sqrt(2 / len(values)))
    assert abs((values**3).mean()) < 5 * math.sqrt(15 / len(values)) * variance**1.5
    # no two steps, weights or seeds share their noise
    assert len(np.unique(values)) == len(values)
    other = optimizers.step_noise(part, SHAPES, 1, np.full(20_000, lr), 0)
    assert not np.isin(other["w"], noise["w"]).any()


def test_without_temperature_it_is_sgd() -> None:
    for name, got in ours(SGLD(temperature=0.0)).items():
        np.testing.assert_array_equal(got, ours(SGD())[name])


def test_its_weights_have_the_distribution_of_langevin() -> None:
    """On w^2/2 the steps w <- (1 - lr) w + sqrt(2 lr T) n settle at variance 2 T / (2 - lr)."""
    part, lr, steps = SGLD(temperature=0.3), 0.2, 4000
    noise = optimizers.step_noise(part, {"w": (50,)}, 0, np.full(steps, lr), 0)["w"]
    w, seen = np.zeros(50), []
    for t in range(steps):
        given = {"w": noise[t]}
        w = optimizers.update(OPS, part, {"w": w}, {"w": w}, {}, [lr, given])[0]["w"]
        seen.append(w)
    values = np.array(seen[100:])
    # neighbours are alike by 0.8 a step: some 200,000 / 4.6 independent squares
    expected = 2 * part.temperature / (2 - lr)
    assert values.var() == pytest.approx(expected, rel=5 * math.sqrt(2 * 4.6 / values.size))


def test_only_rules_with_noise_get_some() -> None:
    for kind, part in OPTIMIZERS.items():
        assert optimizers.adds_noise(part()) == (kind == "sgld")
        assert bool(optimizers.step_noise(part(), SHAPES, 0, LRS, 0)) == (kind == "sgld")
