"""Replicas sum gradients in the order of the devices, each parameter on its device, and share no
memory. NumPy's arrays are used in place of those of frameworks that have several devices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lockstep import recipes
from lockstep.errors import InputError
from lockstep.frameworks import registry
from lockstep.frameworks.protocol import refuse_several
from lockstep.frameworks.replicas import (
    Replica,
    ReplicatedStates,
    make_replica,
    make_replicated_step,
    make_replicated_sums,
)
from lockstep.ops import Snapshot
from lockstep.task import assemble

LR = 0.1


def give_gradients(*given: dict[str, float]) -> tuple[list[Replica], list[tuple[int, float]]]:
    """Devices that found these gradients and step by them, and who received what from others."""
    received: list[tuple[int, float]] = []

    def replica(i: int, grads: dict[str, float]) -> Replica:
        def to_device(x: Any) -> Any:
            if np.ndim(x) == 0:  # not rows
                received.append((i, float(x)))
            return np.array(x)

        def gradient(w: Any, carry: Any, data: Any, rows: Any, count: int) -> Any:
            assert len(rows)
            return np.float64(0.0), carry, {n: np.float64(g) for n, g in grads.items()}

        def update(w: Any, grads: Any, slots: Any, numbers: Any, t: Any) -> Any:
            return {n: w[n] - grads[n] for n in w}, slots, np.float64(i)

        return Replica(registry.get("numpy").kernels("float64"), to_device, gradient, update, None)  # type: ignore[arg-type]

    return [replica(i, grads) for i, grads in enumerate(given)], received


def one_step(replicas: list[Replica], num_rows: int, *names: str) -> Any:
    k = len(replicas)
    weights = tuple({n: np.float64(0.0) for n in names} for _ in range(k))
    empty = ({},) * k
    step = make_replicated_step(replicas)
    return step(weights, empty, empty, empty, np.arange(num_rows), [LR], 0)


def test_sums_are_taken_in_the_order_of_the_devices() -> None:
    """(1 + 1e16) - 1e16 is 0 in float64; from the last to the first it is 1."""
    replicas, _ = give_gradients({"w": 1.0}, {"w": 1e16}, {"w": -1e16})
    weights = one_step(replicas, 3, "w")[0]
    assert [float(own["w"]) for own in weights] == [0.0, 0.0, 0.0]
    assert (-1e16 + 1e16) + 1.0 == 1.0  # it does depend on the order


def test_each_parameter_is_summed_at_its_home() -> None:
    """Parameter i on device i mod 2: a and c on device 0, b on device 1."""
    replicas, received = give_gradients(
        {"a": 1.0, "b": 2.0, "c": 3.0}, {"a": 10.0, "b": 20.0, "c": 30.0}
    )
    weights, _, _, _, norm = one_step(replicas, 2, "a", "b", "c")
    assert [{n: float(v) for n, v in own.items()} for own in weights] == [
        {"a": -11.0, "b": -22.0, "c": -33.0}
    ] * 2
    gradients = [entry for entry in received if entry[1]]  # losses are 0
    # (who, what): the other's gradient, then the other device the sum
    assert gradients == [(0, 10.0), (1, 11.0), (1, 2.0), (0, 22.0), (0, 30.0), (1, 33.0)]
    assert float(norm) == 0.0  # device 0's is logged


def test_a_device_without_rows_computes_no_gradient() -> None:
    """`gradient` refuses an empty share; two rows leave two of four devices without."""
    replicas, _ = give_gradients(*({"w": float(i + 1)} for i in range(4)))
    weights = one_step(replicas, 2, "w")[0]
    assert [float(own["w"]) for own in weights] == [-3.0] * 4


def task_of(num_devices: int, **fields: Any) -> tuple[Any, Any, list[Replica]]:
    spec = recipes.get("airfoil-linear").with_fields(
        {"precision": "float64", "devices": num_devices, "data.max_examples": 20, **fields}
    )
    task = assemble(spec)
    ops = registry.get("numpy").kernels("float64")
    return spec, task, [make_replica(ops, task, spec, np.copy)] * num_devices


@pytest.mark.parametrize("num_devices", [1, 2, 3, 7, 9])
def test_a_step_of_least_squares(num_devices: int) -> None:
    """theta - lr X^T (X theta - y) / 7, whatever the number of devices, 9 of them for 7 rows."""
    spec, task, replicas = task_of(num_devices, batch_size=7)
    states = ReplicatedStates(replicas, task, spec)
    start = {"w": np.arange(5.0).reshape(5, 1), "b": np.array([0.5])}
    state = states.load(Snapshot(start))
    rows = np.array([3, 1, 4, 15, 9, 2, 6], np.int32)
    step = make_replicated_step(replicas)
    w, _, _, loss, norm = step(*state, states.data()["train"], rows, [LR], 0)
    x, y = (task.splits["train"][name][rows] for name in ("x", "y"))
    residual = x @ start["w"] + start["b"] - y
    grads = {"w": x.T @ residual / 7, "b": residual.sum(0) / 7}
    # float64 sums of seven in another order
    assert float(loss) == pytest.approx(float((residual**2).mean() / 2), rel=1e-14)
    expected = np.sqrt(sum((g**2).sum() for g in grads.values()))
    assert float(norm) == pytest.approx(expected, rel=1e-14)
    for own in w:
        for name, grad in grads.items():
            np.testing.assert_allclose(own[name], start[name] - LR * grad, rtol=1e-13)
    for name in start:  # each device has its own, before and after
        for held in (state.weights, w):
            places = {own[name].ctypes.data for own in held}
            assert len(places) == num_devices
    sums, correct = make_replicated_sums(replicas)(state.weights, states.data()["train"], rows)
    assert float(sums) == pytest.approx(float((residual**2).sum() / 2), rel=1e-14)
    assert float(correct) == 0.0


def test_what_is_written_into_one_replica_stays_there() -> None:
    spec, task, replicas = task_of(2, optimizer="momentum")
    states = ReplicatedStates(replicas, task, spec)
    start = task.model.initial_weights(0)
    kept = {name: value.copy() for name, value in start.items()}
    state = states.load(Snapshot(start))
    for array in (*state.weights[0].values(), *state.slots[0].values()):
        array[...] = 77
    for name, value in kept.items():
        np.testing.assert_array_equal(state.weights[1][name], value)
        np.testing.assert_array_equal(start[name], value)  # nor is it the snapshot's
        assert not state.slots[1][f"velocity/{name}"].any()


@pytest.mark.parametrize(("num_devices", "sizes"), [(2, [3, 2]), (3, [2, 2, 1]), (7, [1] * 5)])
def test_the_carried_state_goes_by_rows_and_comes_back_whole(
    num_devices: int, sizes: list[int]
) -> None:
    spec = recipes.get("timemachine-gru").with_fields(
        {
            "data.source": "generated", "batch_size": 5, "model.num_hiddens": 4,
            "data.max_tokens": 300, "precision": "float64", "devices": num_devices,
        }
    )  # fmt: skip
    task = assemble(spec)
    ops = registry.get("numpy").kernels("float64")
    replicas = [make_replica(ops, task, spec, np.copy)] * num_devices
    states = ReplicatedStates(replicas, task, spec)
    h = np.arange(20.0).reshape(5, 4)
    weights = task.model.initial_weights(0)
    state = states.load(Snapshot(weights, carry={"h": h}))
    assert [len(own["h"]) for own in state.carry if own] == sizes
    np.testing.assert_array_equal(state.carry[1]["h"][0], h[sizes[0]])
    back = states.dump(state)
    np.testing.assert_array_equal(back.carry["h"], h)
    for name, value in weights.items():
        np.testing.assert_array_equal(back.weights[name], value)
    again = states.restart_carry(state)
    assert [len(own["h"]) for own in again.carry if own] == sizes
    assert not states.dump(again).carry["h"].any()


def test_what_keeps_its_state_inside_is_refused() -> None:
    spec = recipes.get("airfoil-linear")
    refuse_several(spec, "such layers")
    with pytest.raises(InputError, match=r"devices = 2: such layers train on one device"):
        refuse_several(replace(spec, devices=2), "such layers")
