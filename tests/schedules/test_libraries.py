"""Agreement with PyTorch, optax and Keras where they mean the same, and the exact difference where
they do not (docs/schedules.md has the table). MXNet and nanoGPT are written out as closed forms."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.optim import lr_scheduler as torch_lr

from lockstep.schedules import (
    Schedule,
    constant,
    cosine,
    cosine_restarts,
    exponential,
    factor,
    format_schedule,
    inverse_time,
    join,
    linear,
    multi_factor,
    one_cycle,
    polynomial,
    square_root,
    triangular,
)

T, W, N = 20, 5, 26
# optax and Keras compute in float32: a few of its ulp (1.2e-7) relative to the largest rate
SINGLE = {"rel": 1e-6, "abs": 5e-7}
# PyTorch multiplies the last rate again and again in float64: N roundings
DOUBLE = {"rel": 1e-12, "abs": 1e-14}


def torch_rates(base: float, make: Callable[[Any], Any], count: int = N) -> list[float]:
    """The rates of `count` steps: optimizer.step(), then scheduler.step(), as PyTorch asks."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=base)
    scheduler = make(optimizer)
    rates = []
    for _ in range(count):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


def torch_warmup_cosine(optimizer: Any) -> Any:
    first = torch_lr.LinearLR(optimizer, start_factor=0.1, total_iters=W)
    then = torch_lr.CosineAnnealingLR(optimizer, T_max=T, eta_min=0.01)
    return torch_lr.SequentialLR(optimizer, [first, then], milestones=[W])


def torch_joined(optimizer: Any) -> Any:
    first = torch_lr.ConstantLR(optimizer, factor=0.25, total_iters=100)
    then = torch_lr.ExponentialLR(optimizer, gamma=0.9)
    return torch_lr.SequentialLR(optimizer, [first, then], milestones=[W])


def torch_cyclic(**options: Any) -> Callable[[Any], Any]:
    return lambda optimizer: torch_lr.CyclicLR(
        optimizer, 0.1, 0.5, 4, 6, cycle_momentum=False, **options
    )


def torch_one_cycle(**options: Any) -> Callable[[Any], Any]:
    return lambda optimizer: torch_lr.OneCycleLR(
        optimizer, 0.3, total_steps=N + 1, cycle_momentum=False, **options
    )


SAME_AS_TORCH: list[tuple[Schedule, Callable[[Any], Any]]] = [
    (square_root(0.3), lambda o: torch_lr.LambdaLR(o, lambda t: 1 / math.sqrt(t + 1))),
    (factor(0.3, factor=0.9), lambda o: torch_lr.ExponentialLR(o, gamma=0.9)),
    (exponential(0.3, decay=0.9), lambda o: torch_lr.ExponentialLR(o, gamma=0.9)),
    (
        exponential(0.3, decay=0.5, steps=7, staircase=True),
        lambda o: torch_lr.StepLR(o, step_size=7, gamma=0.5),
    ),
    (
        multi_factor(0.3, milestones=[W, T], factor=0.5),
        lambda o: torch_lr.MultiStepLR(o, milestones=[W, T], gamma=0.5),
    ),
    (polynomial(0.3, steps=T, power=2), lambda o: torch_lr.PolynomialLR(o, T, power=2)),
    (linear(0.3, final=0.03, steps=T), lambda o: torch_lr.LinearLR(o, 1.0, 0.1, total_iters=T)),
    (
        cosine_restarts(0.3, final=0.01, steps=4, period_factor=2),
        lambda o: torch_lr.CosineAnnealingWarmRestarts(o, 4, 2, eta_min=0.01),
    ),
    (one_cycle(0.3, steps=N + 1), torch_one_cycle()),
    (
        one_cycle(0.3, steps=N + 1, rise=0.4, start_divisor=10, shape="linear"),
        torch_one_cycle(pct_start=0.4, div_factor=10.0, anneal_strategy="linear"),
    ),
    (triangular(0.1, peak=0.5, up=4, down=6), torch_cyclic()),
    (
        triangular(0.1, peak=0.5, up=4, down=6, mode="triangular2"),
        torch_cyclic(mode="triangular2"),
    ),
    (
        triangular(0.1, peak=0.5, up=4, down=6, mode="exp_range", gamma=0.9),
        torch_cyclic(mode="exp_range", gamma=0.9),
    ),
    (constant(0.3).warmup(W, start=0.03), lambda o: torch_lr.LinearLR(o, 0.1, total_iters=W)),
    (
        constant(0.3).warmup(W, start=0.03, mode="constant"),
        lambda o: torch_lr.ConstantLR(o, factor=0.1, total_iters=W),
    ),
    (cosine(0.3, final=0.01, steps=T).warmup(W, start=0.03), torch_warmup_cosine),
    (join([constant(0.075), factor(0.3, factor=0.9)], boundaries=[W]), torch_joined),
]
NAMES = [format_schedule(schedule) for schedule, _ in SAME_AS_TORCH]


@pytest.mark.parametrize(("ours", "make"), SAME_AS_TORCH, ids=NAMES)
def test_same_as_torch(ours: Schedule, make: Callable[[Any], Any]) -> None:
    theirs = torch_rates(0.3, make)
    assert ours.values(0, N) == pytest.approx(theirs, **DOUBLE)
    assert len(set(theirs)) > 1


def test_torch_cosine_rises_again_after_its_end_and_ours_does_not() -> None:
    theirs = torch_rates(
        0.3, lambda o: torch_lr.CosineAnnealingLR(o, T_max=T, eta_min=0.01), 2 * T + 1
    )
    ours = cosine(0.3, final=0.01, steps=T).values(0, 2 * T + 1)
    assert ours[: T + 1] == pytest.approx(theirs[: T + 1], **DOUBLE)
    assert ours[T:] == [0.01] * (T + 1)
    assert theirs[T:] == pytest.approx(ours[: T + 1][::-1], **DOUBLE)


def test_torch_one_cycle_cannot_be_asked_after_its_end() -> None:
    make = lambda o: torch_lr.OneCycleLR(o, 0.3, total_steps=T, cycle_momentum=False)  # noqa: E731
    with pytest.raises(ValueError, match="Tried to step"):
        torch_rates(0.3, make, T + 2)
    ours = one_cycle(0.3, steps=T)
    assert ours(T + 2) == ours(T - 1) == pytest.approx(0.3 / 25 / 1e4)


@pytest.fixture(scope="module")
def optax() -> Any:
    return pytest.importorskip("optax")


def test_same_as_optax(optax: Any) -> None:
    pairs: list[tuple[Schedule, Any]] = [
        (polynomial(0.3, final=0.01, steps=T, power=3), optax.polynomial_schedule(0.3, 0.01, 3, T)),
        (linear(0.3, final=0.01, steps=T), optax.linear_schedule(0.3, 0.01, T)),
        (cosine(0.3, final=0.03, steps=T), optax.cosine_decay_schedule(0.3, T, alpha=0.1)),
        (exponential(0.3, decay=0.5, steps=7), optax.exponential_decay(0.3, 7, 0.5)),
        (
            exponential(0.3, decay=0.5, steps=7, staircase=True),
            optax.exponential_decay(0.3, 7, 0.5, staircase=True),
        ),
        (
            multi_factor(0.3, milestones=[W, T], factor=0.5),
            optax.piecewise_constant_schedule(0.3, {W: 0.5, T: 0.5}),
        ),
        (constant(0.3).warmup(W, start=0.1), optax.warmup_constant_schedule(0.1, 0.3, W)),
        # optax counts the warm-up within decay_steps; our cosine is T - W long after it
        (
            cosine(0.3, final=0.01, steps=T - W).warmup(W),
            optax.warmup_cosine_decay_schedule(0.0, 0.3, W, T, 0.01),
        ),
        (
            join([constant(0.1), cosine(0.3, steps=T)], boundaries=[W]),
            optax.join_schedules([lambda t: 0.1, optax.cosine_decay_schedule(0.3, T)], [W]),
        ),
    ]
    for ours, theirs in pairs:
        rates = [float(theirs(step)) for step in range(N)]
        assert ours.values(0, N) == pytest.approx(rates, **SINGLE), ours
        assert len(set(rates)) > 1


def test_optax_one_cycle_is_one_step_longer(optax: Any) -> None:
    """optax tops at int(rise * T) and ends at T, PyTorch and we at rise * T - 1 and T - 1."""
    theirs = optax.cosine_onecycle_schedule(T, 0.3, pct_start=0.3)
    ours = one_cycle(0.3, steps=T, rise=0.3)
    assert float(theirs(6)) == pytest.approx(0.3, **SINGLE)
    assert ours(5) == pytest.approx(0.3)
    assert float(theirs(T)) == pytest.approx(ours(T - 1), **SINGLE)
    assert float(theirs(T - 1)) > 2 * ours(T - 1)


@pytest.fixture(scope="module")
def keras_schedules() -> Any:
    with pytest.MonkeyPatch.context() as patch:  # read once, by the import
        patch.setenv("KERAS_BACKEND", os.environ.get("KERAS_BACKEND", "jax"))
        return pytest.importorskip("keras").optimizers.schedules


def test_same_as_keras(keras_schedules: Any) -> None:
    k = keras_schedules
    pairs: list[tuple[Schedule, Any]] = [
        (exponential(0.3, decay=0.5, steps=7), k.ExponentialDecay(0.3, 7, 0.5)),
        (
            exponential(0.3, decay=0.5, steps=7, staircase=True),
            k.ExponentialDecay(0.3, 7, 0.5, staircase=True),
        ),
        (inverse_time(0.3, decay=0.5, steps=7), k.InverseTimeDecay(0.3, 7, 0.5)),
        (
            inverse_time(0.3, decay=0.5, steps=7, staircase=True),
            k.InverseTimeDecay(0.3, 7, 0.5, staircase=True),
        ),
        (
            polynomial(0.3, final=0.01, steps=T, power=2),
            k.PolynomialDecay(0.3, T, end_learning_rate=0.01, power=2.0),
        ),
        (cosine(0.3, final=0.03, steps=T), k.CosineDecay(0.3, T, alpha=0.1)),
        # Keras counts decay_steps from the end of the warm-up, as we do
        (
            cosine(0.3, final=0.03, steps=T - W).warmup(W, start=0.1),
            k.CosineDecay(0.1, T - W, alpha=0.1, warmup_target=0.3, warmup_steps=W),
        ),
        (
            cosine_restarts(0.3, final=0.03, steps=6, peak_factor=0.5),
            k.CosineDecayRestarts(0.3, 6, t_mul=1.0, m_mul=0.5, alpha=0.1),
        ),
    ]
    for ours, theirs in pairs:
        rates = [float(theirs(step)) for step in range(N)]
        assert ours.values(0, N) == pytest.approx(rates, **SINGLE), ours
        assert len(set(rates)) > 1


def test_keras_piecewise_changes_one_step_after_the_boundary(keras_schedules: Any) -> None:
    theirs = keras_schedules.PiecewiseConstantDecay([W, T], [0.3, 0.15, 0.075])
    ours = multi_factor(0.3, milestones=[W, T], factor=0.5)
    late = multi_factor(0.3, milestones=[W + 1, T + 1], factor=0.5)
    rates = [float(theirs(step)) for step in range(N)]
    assert late.values(0, N) == pytest.approx(rates, **SINGLE)
    assert [t for t in range(N) if abs(ours(t) - rates[t]) > 0.01] == [W, T]


def test_mxnet_asks_for_one_more_and_changes_one_later() -> None:
    """MXNet changes at num_update > milestone but counts the first update as 1: the two cancel in a
    run and show when its scheduler is called by hand."""
    ours = multi_factor(0.5, milestones=[15, 30], factor=0.5)

    def mxnet(num_update: int) -> float:
        return 0.5 * 0.5 ** ((num_update > 15) + (num_update > 30))

    assert [mxnet(t + 1) for t in range(40)] == ours.values(0, 40)
    assert [t for t in range(40) if mxnet(t) != ours(t)] == [15, 30]


def test_mxnet_factor_is_ours_in_a_run_and_one_later_by_hand() -> None:
    """FactorScheduler(step=1): one more factor while num_update > count + 1."""

    def mxnet(num_update: int) -> float:
        count, rate = 0, 2.0
        while num_update > count + 1:
            count, rate = count + 1, max(0.01, rate * 0.9)
        return rate

    ours = factor(2.0, factor=0.9, floor=0.01).values(0, 60)
    assert [mxnet(t + 1) for t in range(60)] == pytest.approx(ours, **DOUBLE)
    assert [mxnet(t) for t in range(1, 60)] == pytest.approx(ours[:59], **DOUBLE)


def test_mxnet_smooth_schedules_run_one_step_ahead() -> None:
    """CosineScheduler(20, 0.3, 0.01, warmup_steps=5) as MXNet computes it, asked for t + 1."""

    def mxnet(num_update: int) -> float:
        if num_update < W:
            return 0.3 * num_update / W
        part = (min(num_update, T) - W) / (T - W)
        return 0.01 + 0.29 * (1 + math.cos(math.pi * part)) / 2

    ours = cosine(0.3, final=0.01, steps=T - W).warmup(W)
    assert [mxnet(t) for t in range(N)] == pytest.approx(ours.values(0, N), **DOUBLE)
    assert mxnet(0 + 1) == pytest.approx(0.06)  # its first update; ours uses 0.0
    assert ours(0) == 0.0


def test_the_chapter_factor_class_multiplies_before_its_first_answer() -> None:
    rate, theirs = 2.0, []
    for _ in range(60):
        rate = max(0.01, rate * 0.9)
        theirs.append(rate)
    assert factor(2.0, factor=0.9, floor=0.01).values(1, 61) == pytest.approx(theirs, **DOUBLE)


def test_nanogpt_warmup_is_ours_with_another_start() -> None:
    """nanoGPT: lr * (t + 1) / (W + 1) for t < W, then the same cosine."""
    ours = cosine(0.3, final=0.01, steps=T - W)
    for t in range(W):
        nanogpt = 0.3 * (t + 1) / (W + 1)
        assert ours.warmup(W, start=0.3 / (W + 1))(t) == pytest.approx(nanogpt, **DOUBLE)
        assert nanogpt - ours.warmup(W)(t) == pytest.approx(0.3 * (1 - t / W) / (W + 1))
