"""A person's own module in its framework: trained, resumed, and equal to the same function."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lockstep as ls
from lockstep.errors import InputError, RunDirectoryError
from lockstep.spec import Adam, Momentum
from lockstep.training.events import RunStarted, StepsCompleted

from .own_models import two_layers
from .running import assert_learned, assert_same_run, at_step

torch = pytest.importorskip("torch", reason="needs torch")
flax = pytest.importorskip("flax", reason="needs flax")
from flax import linen, nnx  # noqa: E402
from torch import nn  # noqa: E402

RNG = np.random.default_rng(3)
X = RNG.normal(size=(70, 4))
Y = np.sin(X[:, 0]) + 0.5 * X[:, 1]


class Linen(linen.Module):
    @linen.compact
    def __call__(self, x: Any) -> Any:
        return linen.Dense(1, name="out")(linen.tanh(linen.Dense(8, name="in")(x)))


class Nnx(nnx.Module):
    def __init__(self) -> None:
        rngs = nnx.Rngs(5)
        self.layers = nnx.List([nnx.Linear(4, 8, rngs=rngs), nnx.Linear(8, 1, rngs=rngs)])

    def __call__(self, x: Any) -> Any:
        return self.layers[1](nnx.tanh(self.layers[0](x)))


def torch_layers(*between: nn.Module) -> nn.Module:
    torch.manual_seed(11)
    return nn.Sequential(nn.Linear(4, 8), *between, nn.Tanh(), nn.Linear(8, 1))


MODULES = {
    "torch": (torch_layers, ["0.weight", "0.bias", "2.weight", "2.bias"]),
    "linen": (Linen, ["in/kernel", "in/bias", "out/kernel", "out/bias"]),
    "nnx": (Nnx, ["layers/0/kernel", "layers/0/bias", "layers/1/kernel", "layers/1/bias"]),
}
FRAMEWORK = {"torch": "torch", "linen": "jax", "nnx": "jax"}


def task(module: object) -> Any:
    return ls.own(module, X[:60], Y[:60], x_test=X[60:], y_test=Y[60:])


def spec_of(mine: Any, kind: str, **fields: Any) -> ls.RunSpec:
    given = {"lr": 0.05, "batch_size": 16, "epochs": 4, "optimizer": Momentum()} | fields
    spec: ls.RunSpec = mine.run(framework=FRAMEWORK[kind], **given)
    return spec


@pytest.mark.parametrize("kind", MODULES)
def test_a_module_walks_the_path_of_the_same_function(kind: str) -> None:
    make, names = MODULES[kind]
    mine = task(make())
    spec = spec_of(mine, kind, precision="float64")
    start: dict[str, np.ndarray] = {}

    def note(event: Any, training: Any) -> None:
        if isinstance(event, RunStarted):
            start.update(training.program.dump(training.state).weights)

    result = ls.train(spec, mine, callbacks=[note])
    assert_learned(result)
    canonical = [start[n].T if n.endswith("weight") else start[n] for n in names]
    weights = dict(zip(("w1", "b1", "w2", "b2"), canonical, strict=True))
    same = ls.own(two_layers, X[:60], Y[:60], x_test=X[60:], y_test=Y[60:], weights=weights)
    other = ls.train(
        replace(spec, framework="numpy", data=same.run().data, model=same.run().model), same
    )
    # float64, 16 updates: only the order of sums differs
    np.testing.assert_allclose(result.history[:, "loss"], other.history[:, "loss"], rtol=1e-10)
    assert result.metrics["test_loss"] == pytest.approx(other.metrics["test_loss"], rel=1e-10)


@pytest.mark.parametrize("optimizer", [Momentum(), Adam()], ids=lambda o: o.kind)
@pytest.mark.parametrize("kind", MODULES)
def test_a_module_is_resumed_exactly(kind: str, optimizer: Any, tmp_path: Path) -> None:
    mine = task(MODULES[kind][0]())
    spec = spec_of(mine, kind, optimizer=optimizer)
    whole = ls.train(spec, mine)
    ls.train(spec, mine, out=tmp_path / "run", callbacks=[at_step(5)], event_steps=1)
    with pytest.raises(RunDirectoryError, match=r"ls\.resume\(folder, mine\)"):
        ls.resume(tmp_path / "run")
    assert_same_run(whole, ls.resume(tmp_path / "run", mine))


class Noisy(nn.Module):
    """Running statistics, a count, dropout as a layer and as a function, a frozen parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch_layers(nn.BatchNorm1d(8), nn.Dropout(0.3))
        self.frozen = nn.Parameter(torch.ones(1), requires_grad=False)

    def forward(self, x: Any) -> Any:
        x = nn.functional.dropout(x, 0.1, self.training)
        return self.frozen * self.layers(x)


@pytest.mark.parametrize("optimizer", [Momentum(), Adam()], ids=lambda o: o.kind)
def test_buffers_and_dropout_are_resumed_exactly(optimizer: Any, tmp_path: Path) -> None:
    mine = task(Noisy())
    spec = spec_of(mine, "torch", optimizer=optimizer)
    whole = ls.train(spec, mine)
    assert_learned(whole)
    ls.train(spec, mine, out=tmp_path / "run", callbacks=[at_step(5)], event_steps=1)
    torch.rand(7)  # whatever else was drawn in between
    parts = ls.resume(tmp_path / "run", mine)
    assert_same_run(whole, parts)
    assert parts.weights["layers.1.num_batches_tracked"] == 16
    assert parts.weights["frozen"] == 1.0


def test_dropout_draws_anew_at_each_step_and_for_each_seed() -> None:
    module = nn.Sequential(nn.Dropout(0.5), nn.Linear(4, 1))
    mine = task(module)
    spec = spec_of(mine, "torch", batch_size=60, epochs=6, lr=0.0)  # the weights stay
    first = ls.train(spec, mine).history[:, "loss"]
    assert len(set(first)) == 6
    # the largest seed there is: the draws' own must not overflow
    other = ls.train(replace(spec, seed=2**63 - 1), mine).history[:, "loss"]
    assert not set(first) & set(other)


def test_a_persons_module_and_generator_are_left_alone() -> None:
    module = Noisy()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    mine = task(module)
    spec = spec_of(mine, "torch", precision="float64")
    torch.manual_seed(5)
    first = ls.train(spec, mine)
    drawn = torch.rand(3)
    torch.manual_seed(5)
    assert torch.equal(drawn, torch.rand(3))
    for name, value in module.state_dict().items():
        assert value.dtype == before[name].dtype
        assert torch.equal(value, before[name]), name
    assert_same_run(first, ls.train(spec, mine))  # so a second run starts where the first did


def test_a_kill_before_the_first_checkpoint_keeps_the_modules_own_start(tmp_path: Path) -> None:
    """Another process builds the module anew, with other weights: they are not used."""
    mine = task(torch_layers())
    spec = spec_of(mine, "torch")

    class Killed(Exception):
        pass

    def killed(event: Any, training: Any) -> None:
        if isinstance(event, StepsCompleted):
            raise Killed

    with pytest.raises(Killed):
        ls.train(spec, mine, out=tmp_path / "run", callbacks=[killed])
    module = torch_layers()
    nn.init.ones_(module[0].weight)
    assert_same_run(ls.train(spec, mine), ls.resume(tmp_path / "run", task(module)))


def test_labels_and_whole_numbers_as_inputs() -> None:
    """An embedding takes whole numbers: they reach a module as they are."""
    symbols = RNG.integers(0, 6, size=(40, 3))
    labels = (symbols.sum(axis=1) > 7).astype(np.int64)

    class Embedded(linen.Module):
        @linen.compact
        def __call__(self, x: Any) -> Any:
            return linen.Dense(2)(linen.Embed(6, 5)(x).reshape(x.shape[0], -1))

    modules = {
        "jax": Embedded(),
        "torch": nn.Sequential(nn.Embedding(6, 5), nn.Flatten(), nn.Linear(15, 2)),
    }
    for framework, module in modules.items():
        mine = ls.own(module, symbols, labels, loss="cross_entropy")
        spec = mine.run(framework=framework, lr=0.3, batch_size=10, epochs=8, evaluate=("train",))
        result = ls.train(spec, mine)
        assert_learned(result)
        assert result.metrics["final_train_accuracy"] > max(labels.mean(), 1 - labels.mean())


# --- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "framework", "message"),
    [
        ("torch", "jax", "'Sequential': is not a Flax module"),
        ("linen", "torch", "'Linen': is not a torch.nn.Module"),
        ("nnx", "torch", "'Nnx': is not a torch.nn.Module"),
        ("torch", "numpy", "is not NumPy's.*its own framework"),
        ("linen", "numpy", "is not NumPy's.*its own framework"),
    ],
)
def test_a_module_in_another_framework(kind: str, framework: str, message: str) -> None:
    mine = task(MODULES[kind][0]())
    with pytest.raises(InputError, match=message):
        ls.train(mine.run(framework=framework), mine)


class Dropping(linen.Module):
    @linen.compact
    def __call__(self, x: Any) -> Any:
        return linen.Dense(1)(linen.Dropout(0.5, deterministic=False)(x))


class Normed(linen.Module):
    @linen.compact
    def __call__(self, x: Any) -> Any:
        return linen.Dense(1)(linen.BatchNorm(use_running_average=False)(x))


class NnxDropping(nnx.Module):
    def __init__(self) -> None:
        rngs = nnx.Rngs(5)
        self.layer, self.drop = nnx.Linear(4, 1, rngs=rngs), nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        return self.layer(self.drop(x))


@pytest.mark.parametrize("module", [Dropping, Normed, NnxDropping])
def test_flax_modules_with_state_beside_parameters(module: Any) -> None:
    mine = task(module())
    with pytest.raises(InputError, match=r"state beside parameters.*no BatchNorm, no Dropout"):
        ls.train(mine.run(framework="jax"), mine)


def test_weights_beside_a_module_are_refused() -> None:
    with pytest.raises(InputError, match=r"weights = .*which brings its own"):
        ls.own(torch_layers(), X, Y, weights={"w": np.zeros(1)})


@pytest.mark.parametrize("kind", ["torch", "linen"])
def test_outputs_without_an_axis_are_refused(kind: str) -> None:
    class Flat(linen.Module):
        @linen.compact
        def __call__(self, x: Any) -> Any:
            return linen.Dense(1)(x)[:, 0]

    module = Flat() if kind == "linen" else nn.Sequential(nn.Linear(4, 1), nn.Flatten(0))
    mine = task(module)
    with pytest.raises(InputError, match=r"without an axis.*Return \(B, 1\)"):
        ls.train(spec_of(mine, kind), mine)
