"""A model and an optimizer added from outside the package train in every framework."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from lockstep import models, optimizers
from lockstep.cli import main
from lockstep.errors import InputError
from lockstep.frameworks import registry
from lockstep.models.layers import AvgPool, Convolution, Dense, Flatten, MaxPool, ReLU, Sequential
from lockstep.spec import SGD, LeNet, RunSpec, parts
from lockstep.task import assemble, model_of
from lockstep.training.weights import load_weights, save_weights, trained

from .running import OTHERS, assert_fell, assert_same_path, losses, recipe, walk

FLOAT32 = 1e-4  # roundings of 6e-8, compounded over the steps
FLOAT64 = 1e-9


@dataclass(frozen=True)
class SmallNet:
    """Two convolutions, with a padding that is "same" in Keras and one that is not."""

    kind: ClassVar[str] = "small-net"
    channels: int = 2


def build_small_net(part: SmallNet, input_shape: tuple[int, ...], num_outputs: int) -> models.Model:
    height, width = input_shape
    c = part.channels
    layers = (
        *(Convolution("first", 1, c, kernel=3, padding=1), ReLU(), MaxPool(2)),
        *(Convolution("second", c, 4, kernel=3, padding=2), ReLU()),  # 16 x 16, not pooled
        *(AvgPool(4), Flatten(), Dense("hidden", 64, 12), ReLU()),
        Dense("scores", 12, num_outputs),
    )
    return Sequential(layers, (1, height, width))


@dataclass(frozen=True)
class Ramp(parts.OptimizerPart):
    """v <- m v + g; w <- w - lr min(1, t / steps) v, with t from 1."""

    kind: ClassVar[str] = "ramp"
    momentum: float = 0.5
    steps: int = 10


def ramp(ops: Any, o: Any, w: Any, g: Any, slots: Any, step: Any) -> tuple[Any, dict[str, Any]]:
    velocity = o.momentum * slots["velocity"] + g
    return w - step.lr * step.share * velocity, {"velocity": velocity}


RAMP = optimizers.Rule(ramp, ("velocity",), {"share": lambda o, t: np.minimum(1.0, t / o.steps)})


@pytest.fixture(autouse=True)
def _added(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are known during a test, and nothing of them after it."""
    for known in (parts.MODELS, parts.OPTIMIZERS, models._FOR_EXAMPLES):
        monkeypatch.setattr(known, "_items", dict(known))
    monkeypatch.setitem(optimizers.RULES, "ramp", RAMP)
    models.add(SmallNet, build_small_net)
    optimizers.add(Ramp, RAMP)


def net(**fields: Any) -> RunSpec:
    data = {"data__source": "generated", "data__max_examples": 160}
    return recipe(
        "fashion-lenet", model="small-net", lr=0.05, batch_size=16, max_steps=10, **data, **fields
    )


def airfoil(**fields: Any) -> RunSpec:
    fields = {"optimizer": "ramp", "lr": 0.02, "max_steps": 60, "precision": "float64"} | fields
    return recipe("airfoil-linear", **fields)


# --- the model ------------------------------------------------------------------------------------


@pytest.mark.parametrize("framework", OTHERS)
@pytest.mark.parametrize("style", ["scratch", "concise"])
def test_a_model_trains_in_both_styles(style: str, framework: str) -> None:
    oracle = walk(net(precision="float64"))
    result = walk(net(), framework=framework, style=style)
    assert_same_path(result.history[:, "loss"], oracle.history[:, "loss"], FLOAT32, framework)
    start = oracle.task.model.initial_weights(0)
    for name, value in oracle.weights.items():
        assert abs(value - start[name]).max() > 1e-4  # it moved
        size = abs(value).max()
        np.testing.assert_allclose(result.weights[name], value, rtol=0, atol=1e-3 * size)


@pytest.mark.parametrize("framework", registry.names())
def test_a_model_is_converted(framework: str, tmp_path: Path) -> None:
    model = model_of(net())
    weights = {n: w.astype("float32") for n, w in model.initial_weights(3).items()}
    path = save_weights(weights, model, tmp_path / "w.safetensors", framework)
    for name, value in load_weights(path, model, framework).items():
        np.testing.assert_array_equal(value, weights[name])


def test_a_model_has_a_spec_and_options(tmp_path: Path) -> None:
    spec = net(model__channels=3)
    assert spec.model == SmallNet(3)
    assert RunSpec.from_dict(spec.to_dict()) == spec
    (tmp_path / "spec.toml").write_text(spec.to_toml())
    assert RunSpec.from_file(tmp_path / "spec.toml") == spec
    run = tmp_path / "run"
    words = ["train", str(tmp_path / "spec.toml"), "--model.channels", "5", "--max-steps", "1"]
    assert main([*words, "--framework", "numpy", "--out", str(run), "--quiet"]) == 0
    assert trained(run).weights["first_w"].shape == (5, 1, 3, 3)


def test_a_kind_is_given_once() -> None:
    @dataclass(frozen=True)
    class Other:
        kind: ClassVar[str] = "small-net"

    with pytest.raises(InputError, match=r"model\.kind = 'small-net': is taken"):
        models.add(Other, build_small_net)
    with pytest.raises(InputError, match=r"model\.kind = 'lenet': is taken"):
        models.add(LeNet, build_small_net)
    with pytest.raises(InputError, match=r"optimizer\.kind = 'sgd': has a rule already"):
        optimizers.add(SGD, RAMP)
    with pytest.raises(InputError, match=r"optimizer = 'Other'.*spec\.parts\.OptimizerPart"):
        optimizers.add(Other, RAMP)  # type: ignore[arg-type]


# --- the optimizer --------------------------------------------------------------------------------


def test_an_optimizer_is_its_formula() -> None:
    """On airfoil's first two batches: the losses follow from the weights by hand."""
    spec = airfoil(max_steps=3)
    result, task = walk(spec), assemble(spec)
    x, y = task.splits["train"]["x"], task.splits["train"]["y"]
    w, b = np.zeros((5, 1)), np.zeros(1)
    w += task.model.initial_weights(0)["w"]
    moved_w, moved_b = np.zeros_like(w), np.zeros_like(b)
    for t, rows in enumerate(np.concatenate([*task.plan.epoch(0)])[:3]):
        error = x[rows] @ w + b - y[rows]
        np.testing.assert_allclose(result.history[:, "loss"][t], (error**2).mean() / 2, rtol=1e-12)
        moved_w = 0.5 * moved_w + x[rows].T @ error / len(rows)
        moved_b = 0.5 * moved_b + error.mean(0)
        w, b = w - 0.02 * (t + 1) / 10 * moved_w, b - 0.02 * (t + 1) / 10 * moved_b
    np.testing.assert_allclose(result.weights["w"], w, rtol=1e-12)


@pytest.mark.parametrize("framework", OTHERS)
def test_an_optimizer_trains_in_scratch_and_is_refused_in_concise(framework: str) -> None:
    oracle = losses(airfoil())
    assert_fell(oracle, by=0.1)
    assert_same_path(losses(airfoil(), framework=framework), oracle, FLOAT64, framework)
    for precision in ("float32", "float64"):
        spec = airfoil(framework=framework, style="concise").with_fields({"precision": precision})
        with pytest.raises(
            InputError, match=r"optimizer\.kind = 'ramp': has no .* form in .*"
        ) as e:
            registry.get(framework).compile(assemble(spec), spec)  # no step is made
        assert "--style scratch" in e.value.remedy
