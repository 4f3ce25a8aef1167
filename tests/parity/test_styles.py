"""The concise style (the framework's own layers and optimizer) is the same run as scratch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lockstep.errors import InputError
from lockstep.frameworks import programs, registry
from lockstep.spec import RunSpec
from lockstep.spec.parts import OPTIMIZERS
from lockstep.task import assemble
from lockstep.training import Result

from .running import OTHERS, assert_fell, assert_same_path, losses, recipe, walk

FLOAT32 = 1e-4  # roundings of 6e-8, compounded over the steps
FLOAT64 = 1e-9

TEXT: dict[str, Any] = {"model__num_hiddens": 32, "batch_size": 16, "data__window": 10}
FEW: dict[str, Any] = {"data__max_examples": 10_240}  # one epoch: no framework is given 60,000
MODELS = {
    "airfoil": recipe("airfoil-linear", max_steps=100),
    # a small rate: an input of a ReLU within 1e-8 of zero may round to either side, and every step
    # after that has another gradient; see test_lenet_in_float32
    "mlp": recipe("fashion-mlp", max_steps=40, lr=0.02, model__hiddens=(64, 32), **FEW),
    "softmax": recipe("fashion-softmax", max_steps=40, **FEW),
    "rnn": recipe("timemachine-rnn", max_steps=60, **TEXT),
    "gru after": recipe("timemachine-gru", max_steps=60, model__reset="after", **TEXT),
    "lenet": recipe("fashion-lenet", lr=0.02, batch_size=32, max_steps=8, data__max_examples=256),
    # from weights of 0.01 it moves by Adam only, whose steps magnify the roundings of float32
    "lenet avg": recipe(
        "fashion-lenet",
        optimizer="adam",
        lr=0.005,
        model__pooling="avg",
        precision="float64",
        batch_size=32,
        max_steps=8,
    ),
}


def assert_same_state(one: Result, other: Result, rtol: float) -> None:
    """Weights, slots and carried state agree to a share of each array's largest entry."""
    for group in ("weights", "slots", "carry"):
        ours, theirs = getattr(one.snapshot, group), getattr(other.snapshot, group)
        assert set(ours) == set(theirs)
        for name, value in ours.items():
            assert theirs[name].shape == value.shape
            size = max(float(abs(value).max()), 1e-8)
            np.testing.assert_allclose(theirs[name], value, rtol=0, atol=rtol * size, err_msg=name)


# What a framework's own optimizer defines otherwise, and by how much a run of 60 steps in float64
# then parts from ours: (without, with decay and clipping). docs/frameworks.md says it in words.
FLOAT32_SETTINGS = (
    1e-6,
    1e-6,
)  # kernels that take their settings as float32, whatever they compute
OWN_DEFINITIONS = {
    # eps^2 = 1e-20 under the root, not eps = 1e-10 beside it: gradients clipped to some 1e-3 feel a
    # share of 1e-7 of that
    ("jax", "adagrad"): (FLOAT64, 1e-6),
    ("tensorflow", "adagrad"): (FLOAT64, 1e-6),  # the same
    ("tensorflow", "rmsprop"): (1e-5, 1e-3),  # the same
    ("paddle", "momentum"): FLOAT32_SETTINGS,
    ("paddle", "nesterov"): FLOAT32_SETTINGS,
    ("paddle", "adadelta"): FLOAT32_SETTINGS,
    ("paddle", "adamw"): (FLOAT64, 1e-8),  # its decay is a setting
    ("paddle", "rmsprop"): (1e-5, 1e-3),  # eps under the root too
    ("mxnet", "momentum"): FLOAT32_SETTINGS,
    ("mxnet", "nesterov"): FLOAT32_SETTINGS,
    ("mxnet", "adam"): (1e-4, 1e-4),  # 1 - 0.999 in float32 is off by 1e-5 of itself
    ("mxnet", "adamw"): (1e-4, 1e-4),
    ("mxnet", "adagrad"): (1e-8, 1e-6),  # eps under the root
    ("mxnet", "rmsprop"): (1e-4, 1e-3),
}


def concise_tolerance(framework: str, optimizer: str, *, clipped: bool = False) -> float:
    return OWN_DEFINITIONS.get((framework, optimizer), (FLOAT64, FLOAT64))[clipped]


@pytest.mark.parametrize("framework", OTHERS)
@pytest.mark.parametrize("model", MODELS)
def test_models(model: str, framework: str) -> None:
    spec = MODELS[model].with_fields({"framework": framework})
    if (framework, spec.model.kind, spec.precision) == ("mindspore", "lenet", "float64"):
        with pytest.raises(InputError, match=r"precision = 'float64': mindspore\.nn\.Conv2d"):
            walk(spec, style="concise")
        return
    scratch, concise = walk(spec), walk(spec, style="concise")
    loss = scratch.history[:, "loss"]
    if "lenet" not in model:  # too few steps for it
        assert_fell(loss, by=0.01)
    start = scratch.task.model.initial_weights(spec.seed)
    assert max(abs(w - start[name]).max() for name, w in scratch.weights.items()) > 1e-3
    own = concise_tolerance(framework, spec.optimizer.kind)
    tolerance = own if spec.precision == "float64" else FLOAT32
    assert_same_path(concise.history[:, "loss"], loss, tolerance, framework)
    # sums over a batch near zero lose digits that the loss keeps
    assert_same_state(scratch, concise, rtol=10 * tolerance)
    assert scratch.history.notes != concise.history.notes


@pytest.mark.parametrize("framework", OTHERS)
def test_gru_that_resets_before(framework: str) -> None:
    """Flax and Keras can; the others' own layers reset after the product only."""
    spec = recipe("timemachine-gru", max_steps=60, framework=framework, **TEXT)
    assert spec.model.reset == "before"
    if framework not in ("jax", "tensorflow"):
        with pytest.raises(InputError, match=r"model\.reset = 'before'.*--model\.reset after"):
            walk(spec, style="concise")
        return
    scratch, concise = walk(spec), walk(spec, style="concise")
    assert_fell(scratch.history[:, "loss"], by=0.05)
    assert_same_path(concise.history[:, "loss"], scratch.history[:, "loss"], FLOAT32, framework)
    assert_same_state(scratch, concise, rtol=1e-3)


def test_numpy_has_no_concise_style() -> None:
    with pytest.raises(InputError, match=r"style = 'concise': numpy.*--style scratch"):
        walk(recipe("airfoil-linear", max_steps=2, style="concise"))


# --- optimizers -----------------------------------------------------------------------------------

RATES = {"sgd": 0.05, "sgld": 0.05, "momentum": 0.01, "nesterov": 0.01, "adadelta": 1.0}


def small(optimizer: str, **fields: Any) -> RunSpec:
    """Airfoil with one hidden layer: a second or less in every framework."""
    return recipe(
        "airfoil-linear", max_steps=60, precision="float64", model="mlp", model__hiddens=(8,),
        optimizer=optimizer, lr=RATES.get(optimizer, 0.01), **fields,
    )  # fmt: skip


def styles(optimizer: str) -> tuple[str, ...]:
    """No library has Langevin dynamics with noise that is given to it."""
    return ("scratch",) if optimizer == "sgld" else ("scratch", "concise")


@pytest.mark.parametrize("framework", OTHERS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_optimizers(optimizer: str, framework: str) -> None:
    spec = small(optimizer)
    oracle = walk(spec)
    assert_fell(oracle.history[:, "loss"], by=0.1)
    for style in styles(optimizer):
        result = walk(spec, framework=framework, style=style)
        own = concise_tolerance(framework, optimizer) if style == "concise" else FLOAT64
        who = f"{framework}, {style}"
        assert_same_path(result.history[:, "loss"], oracle.history[:, "loss"], own, who)
        # Adagrad by Optax has eps^2 = 1e-20 under the root: a share of 1e-10 / sqrt(s) of a step
        assert_same_state(oracle, result, rtol=max(1e-8, 100 * own if own > FLOAT64 else 0))


@pytest.mark.parametrize("framework", OTHERS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_decay_and_clipping(optimizer: str, framework: str) -> None:
    extra = {"weight_decay": 0.1, "clip_norm": 0.5, "clip_value": 0.2}
    spec = small(optimizer, **{f"optimizer__{name}": value for name, value in extra.items()})
    plain, oracle = losses(small(optimizer)), losses(spec)
    assert abs(oracle - plain).max() > 1e-4  # they do something
    for style in styles(optimizer):
        path = losses(spec, framework=framework, style=style)
        concise = style == "concise"
        own = concise_tolerance(framework, optimizer, clipped=True) if concise else FLOAT64
        assert_same_path(path, oracle, own, f"{framework}, {style}")


@pytest.mark.parametrize("framework", OTHERS)
@pytest.mark.parametrize("optimizer", ["momentum", "nesterov"])
def test_momentum_of_zero_is_plain_descent(optimizer: str, framework: str) -> None:
    plain = losses(small("sgd"))
    for style in ("scratch", "concise"):
        spec = small(optimizer, optimizer__momentum=0.0).with_lr(0.05)
        path = losses(spec, framework=framework, style=style)
        assert_same_path(path, plain, FLOAT64, f"{framework}, {style}")


@pytest.mark.parametrize("framework", OTHERS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_how_a_run_is_cut_changes_no_bit(optimizer: str, framework: str) -> None:
    """Concise too: the optimizer's own state goes out and in between calls."""
    from lockstep.training import train

    spec = small(optimizer).with_fields(
        {"framework": framework, "style": styles(optimizer)[-1], "max_steps": 15}
    )
    whole = train(spec)
    parts = train(spec, event_steps=4)
    np.testing.assert_array_equal(parts.history[:, "loss"], whole.history[:, "loss"])
    for name, value in whole.weights.items():
        np.testing.assert_array_equal(parts.weights[name], value)


@pytest.mark.parametrize("framework", OTHERS)
@pytest.mark.parametrize("gate", ["update", "reset"])
def test_a_gru_with_one_gate_has_no_concise_form(gate: str, framework: str) -> None:
    spec = recipe("timemachine-gru", model="one-gate", model__gate=gate, style="concise", **TEXT)
    spec = spec.with_fields({"framework": framework})
    with pytest.raises(InputError, match=r"'OneGateNet': has no .* form. Use --style scratch"):
        registry.get(framework).compile(assemble(spec), spec)


@pytest.mark.parametrize("framework", OTHERS)
def test_langevin_dynamics_has_no_concise_form(framework: str) -> None:
    spec = small("sgld", framework=framework, style="concise")
    with pytest.raises(InputError, match=r"optimizer\.kind = 'sgld': has no concise form in .*"):
        registry.get(framework).compile(assemble(spec), spec)


def test_noise_is_given_to_a_loop_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than so many numbers at once, which changes no bit."""
    pytest.importorskip("jax")
    spec = small("sgld", framework="jax")
    whole = walk(spec)
    weights = sum(w.size for w in whole.weights.values())
    monkeypatch.setattr(programs, "MOST_NOISE", 7 * weights + 1)  # pieces of 7 steps, then 4
    parts = walk(spec)
    np.testing.assert_array_equal(parts.history[:, "loss"], whole.history[:, "loss"])
    np.testing.assert_array_equal(parts.history[:, "grad_norm"], whole.history[:, "grad_norm"])


# --- fused parts ----------------------------------------------------------------------------------


FUSED = {  # what the run says, the part's name among Ops.fused if it is there, and who has it
    "airfoil": ("fused linear sgd", "", ("torch", "paddle")),
    "lenet": ("fused convolution", "conv_max_pool", ("torch", "jax", "tensorflow", "mxnet")),
    "lenet avg": ("fused convolution", "conv_avg_pool", ("torch", "jax", "mxnet")),
    "gru after": ("fused gru", "symbol_gru", ("torch", "tensorflow", "paddle", "mxnet")),
    "gru before": ("fused gru", "symbol_gru", ("torch", "tensorflow", "paddle", "mxnet")),
}


def notes(spec: RunSpec) -> tuple[str, ...]:
    """What the program of a run says of itself, before any step."""
    return registry.get(spec.framework).compile(assemble(spec), spec).notes


@pytest.mark.parametrize("framework", OTHERS)
@pytest.mark.parametrize(
    ("model", "precision"),
    [
        *((model, "float64") for model in FUSED),
        *((model, "float32") for model in ("airfoil", "lenet", "gru after")),
    ],
)
def test_fused_parts_are_equal_parts(model: str, precision: str, framework: str) -> None:
    """PyTorch has them all; of the others each has some, and runs one program where it has none."""
    note, part, having = FUSED[model]
    spec = MODELS["gru after" if "gru" in model else model]
    if "gru" in model:
        spec = spec.with_fields({"model.reset": model.removeprefix("gru ")})
    if spec.optimizer.kind == "adam" and precision == "float32":
        spec = spec.with_fields({"optimizer": "momentum"})
    spec = spec.with_fields({"framework": framework, "precision": precision})
    without = spec.with_fields({"fused": False})
    assert any(note in line for line in notes(spec)) == (framework in having)
    assert not any(note in line for line in notes(without))
    if framework not in having:
        assert notes(spec) == notes(without)
        assert part not in registry.get(framework).kernels(precision).fused
        return
    fused, plain = walk(spec), walk(without)
    tolerance = FLOAT64 if precision == "float64" else FLOAT32
    for column in ("loss", "grad_norm"):
        assert_same_path(
            fused.history[:, column], plain.history[:, column], tolerance, f"fused {column}"
        )
    assert_same_state(plain, fused, rtol=10 * tolerance)
