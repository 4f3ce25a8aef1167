"""Canonical arrays to a framework's own layout and back: nothing lost, every name the module's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lockstep import models
from lockstep.errors import InputError
from lockstep.frameworks import registry
from lockstep.models.layers import Sequential
from lockstep.spec import GRU, MLP, RNN, LeNet, Linear, Softmax
from lockstep.task import OwnNet

IMAGE = (28, 28)
MODELS: dict[str, models.Model] = {
    "linear": models.build(Linear(), (5,), 1),
    "softmax": models.build(Softmax(), IMAGE, 10),
    "mlp": models.build(MLP((7, 6)), (5,), 2),
    "lenet max": models.build(LeNet("max"), IMAGE, 10),
    "lenet avg": models.build(LeNet("avg"), IMAGE, 10),
    "rnn": models.build(RNN(4), (), 28),
    "gru after": models.build(GRU(4, "after"), (), 28),
    "gru before": models.build(GRU(4, "before"), (), 28),
}


def weights(model: models.Model) -> dict[str, np.ndarray]:
    """Every entry another number, biases too, so that an exchange shows."""
    start = model.initial_weights(0)
    return {n: np.arange(w.size, dtype=np.float64).reshape(w.shape) for n, w in start.items()}


def native_shapes(framework: str, model: models.Model) -> tuple[Any, dict[str, tuple[int, ...]]]:
    if framework == "torch":
        pytest.importorskip("torch")
        from lockstep.frameworks.torch import concise, layout

        module, _ = concise.build(model)
        shapes = {n: tuple(t.shape) for n, t in module.state_dict().items()}
        return layout.layout(model), shapes
    pytest.importorskip("flax")
    import jax
    import jax.numpy as jnp
    from flax import traverse_util

    from lockstep.frameworks.jax import concise as flax_concise
    from lockstep.frameworks.jax import layout as flax_layout

    module, _ = flax_concise.build(model)
    if isinstance(model, Sequential):
        # images have their channels last
        shape = (28, 28, 1) if len(model.input_shape) == 3 else model.input_shape
        inputs: tuple[Any, ...] = (jnp.zeros((2, *shape)),)
    else:
        inputs = (jnp.zeros((3, 2), jnp.int32), jnp.zeros((2, 4)))
    params = jax.eval_shape(module.init, jax.random.key(0), *inputs)["params"]
    flat = traverse_util.flatten_dict(params, sep="/")
    return flax_layout.layout(model), {n: tuple(a.shape) for n, a in flat.items()}


WITH_LAYERS = [name for name in registry.names() if name != "numpy"]
RESETS_BEFORE = ("jax", "tensorflow")  # whose own GRU can


@pytest.mark.parametrize("framework", WITH_LAYERS)
@pytest.mark.parametrize("name", MODELS)
def test_there_and_back(name: str, framework: str) -> None:
    """No framework is needed for that."""
    if name == "gru before" and framework not in RESETS_BEFORE:
        with pytest.raises(InputError, match=r"model\.reset = 'before'.*--model\.reset after"):
            registry.layout(framework, MODELS[name])
        return
    layout = registry.layout(framework, MODELS[name])
    canonical = weights(MODELS[name])
    native = layout.to_native(canonical)
    back = layout.from_native(native)
    assert set(back) == set(canonical)
    for n, value in canonical.items():
        np.testing.assert_array_equal(back[n], value)
    slots = {f"mean/{n}": value for n, value in canonical.items()}
    for n, value in layout.slots_from_native(layout.slots_to_native(slots)).items():
        np.testing.assert_array_equal(value, slots[n])


@pytest.mark.parametrize("framework", ["torch", "jax"])
@pytest.mark.parametrize("name", MODELS)
def test_names_and_shapes_are_the_modules(name: str, framework: str) -> None:
    """Of the other frameworks the tests of conversion say so."""
    if name == "gru before" and framework not in RESETS_BEFORE:
        return
    layout, shapes = native_shapes(framework, MODELS[name])
    native = layout.to_native(weights(MODELS[name]))
    assert {n: a.shape for n, a in native.items()} == shapes


@pytest.mark.parametrize("framework", ["torch", "paddle", "mindspore", "mxnet"])
def test_the_second_bias_of_an_rnn_stays_zero_and_has_no_slots(framework: str) -> None:
    layout, canonical = registry.layout(framework, MODELS["rnn"]), weights(MODELS["rnn"])
    native = layout.to_native(canonical)
    zeros = [n for n, value in native.items() if value.shape == (4,) and not value.any()]
    assert len(zeros) == (2 if framework == "paddle" else 1)
    slots = layout.slots_to_native({f"mean/{n}": value for n, value in canonical.items()})
    for name in zeros:
        del slots[f"mean/{name}"]
    for name, value in layout.slots_from_native(slots).items():
        np.testing.assert_array_equal(value, canonical[name.removeprefix("mean/")])


def test_torch_orders_its_gates_r_z_n() -> None:
    from lockstep.frameworks.torch.layout import layout

    canonical = weights(MODELS["gru after"])
    native = layout(MODELS["gru after"]).to_native(canonical)
    z, r, h = np.split(canonical["w_h"], 3, axis=1)
    np.testing.assert_array_equal(native["layer.weight_hh_l0"], np.concatenate([r.T, z.T, h.T]))


@pytest.mark.parametrize("framework", WITH_LAYERS)
def test_an_own_model_has_no_layout(framework: str) -> None:
    own = OwnNet(lambda ops, w, x: x @ w["w"], {"w": np.zeros((2, 1))})
    with pytest.raises(InputError, match=r"OwnNet.*--style scratch"):
        registry.layout(framework, own)
