"""A converted file is loaded by the framework's own model, which gives the same outputs."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import numpy as np
import pytest

import lockstep as ls
from lockstep import models
from lockstep.cli import main
from lockstep.errors import InputError
from lockstep.frameworks import registry
from lockstep.ops import Arrays
from lockstep.spec import GRU, MLP, RNN, LeNet
from lockstep.task import model_of
from lockstep.training.weights import load_weights, save_weights, trained

OTHERS = [name for name in registry.installed() if name != "numpy"]
KINDS = {
    "mlp": models.build(MLP((7,)), (5,), 2),
    "lenet": models.build(LeNet("max"), (28, 28), 10),
    "rnn": models.build(RNN(4), (), 28),
    "gru": models.build(GRU(4, "after"), (), 28),
}


def drawn(model: models.Model) -> Arrays:
    """Weights with no two alike, biases too."""
    rng = np.random.default_rng(0)
    shapes = {name: w.shape for name, w in model.initial_weights(0).items()}
    return {n: rng.normal(scale=0.3, size=shape).astype("float32") for n, shape in shapes.items()}


def given(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """The input as our model takes it, and as a framework's does (symbols as one-hot)."""
    rng = np.random.default_rng(1)
    if kind == "lenet":
        x = rng.uniform(size=(3, 28, 28))
    elif kind == "mlp":
        x = rng.normal(size=(3, 5))
    else:
        symbols = rng.integers(0, 28, size=(6, 2))
        return symbols, np.eye(28)[symbols]
    return x, x


def by_the_oracle(model: models.Model, weights: Arrays, x: np.ndarray) -> np.ndarray:
    ops = registry.get("numpy").kernels("float64")
    carry = {n: ops.zeros(shape) for n, shape in model.carry_shapes(x.shape[-1]).items()}
    w = {name: ops.asarray(value) for name, value in weights.items()}
    return ops.to_numpy(model.apply(ops, w, ops.asarray(x), carry)[0])


@pytest.mark.parametrize("framework", OTHERS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_frameworks_own_model_gives_the_same(kind: str, framework: str, tmp_path: Path) -> None:
    model = KINDS[kind]
    weights = drawn(model)
    path = save_weights(weights, model, tmp_path / "w.safetensors", framework)
    ours, theirs = given(kind)
    native = importlib.import_module(f"tests.conversion.in_{framework}")
    found = native.outputs(kind, str(path), theirs)
    expected = by_the_oracle(model, weights, ours)
    assert np.ptp(expected) > 0.1
    # float32: some hundred products of size one, each rounded at 6e-8
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.skipif("tensorflow" not in OTHERS, reason="needs tensorflow")
def test_keras_can_reset_before(tmp_path: Path) -> None:
    from tests.conversion import in_tensorflow

    model = models.build(GRU(4, "before"), (), 28)
    weights = drawn(model)
    path = save_weights(weights, model, tmp_path / "w.safetensors", "tensorflow")
    ours, theirs = given("gru")
    found = in_tensorflow.outputs("gru before", str(path), theirs)
    np.testing.assert_allclose(found, by_the_oracle(model, weights, ours), rtol=1e-4, atol=1e-5)


# --- files and the command ------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["lockstep", *registry.names()])
@pytest.mark.parametrize("kind", KINDS)
def test_back_again_to_the_bit(kind: str, layout: str, tmp_path: Path) -> None:
    weights = drawn(KINDS[kind])
    path = save_weights(weights, KINDS[kind], tmp_path / "w.safetensors", layout)
    back = load_weights(path, KINDS[kind], layout)
    assert list(back) == list(weights)
    for name, value in weights.items():
        assert back[name].dtype == np.float32
        np.testing.assert_array_equal(back[name], value)


def test_from_a_run_to_torch_and_back_into_a_run(tmp_path: Path) -> None:
    """The torch file names no Lockstep run: it could come from anywhere."""
    spec = ls.recipes.timemachine_gru(style="concise").with_fields(
        {"data.source": "generated", "model.num_hiddens": 8, "style": "scratch", "max_steps": 3}
    )
    ls.train(spec, out=tmp_path / "run")
    torch_file, ours = tmp_path / "torch.safetensors", tmp_path / "ours.safetensors"
    fields = ["--model.num_hiddens", "8", "--model.reset", "after"]
    assert main(["convert", str(tmp_path / "run"), "--to", "torch", "--out", str(torch_file)]) == 0
    words = ["convert", str(torch_file), "--from", "torch", "--model", "timemachine-gru", *fields]
    assert main([*words, "--to", "lockstep", "--out", str(ours)]) == 0
    start = load_weights(ours, model_of(spec))
    for name, value in trained(tmp_path / "run").weights.items():
        np.testing.assert_array_equal(start[name], value)
    words = ["train", "timemachine-gru", *fields, "--data", "generated", "--max-steps", "1"]
    words += ["--start", str(ours), "--out", str(tmp_path / "on"), "--quiet"]
    assert main(words) == 0
    begun = ls.train(spec.with_fields({"max_steps": 1}), start=ls.Snapshot(start))
    for name, value in trained(tmp_path / "on").weights.items():
        np.testing.assert_array_equal(begun.weights[name], value)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere", "--to", "torch"], "run = 'nowhere': is not a run"),
        (["w.safetensors", "--to", "torch"], "--from torch"),
        (["w.safetensors", "--to", "torch", "--from", "torch"], "--model timemachine-gru"),
        (
            ["w.safetensors", "--to", "jax", "--from", "torch", "--model", "airfoil-linear"],
            "cannot be read as safetensors",
        ),
    ],
)
def test_mistakes_name_the_remedy(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["convert", *words, "--out", str(tmp_path / "o.safetensors")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "o.safetensors").exists()


def test_a_file_of_another_model_is_refused(tmp_path: Path) -> None:
    path = save_weights(drawn(KINDS["rnn"]), KINDS["rnn"], tmp_path / "w.safetensors", "torch")
    with pytest.raises(InputError, match=r"layer\.weight_ih_l0 = \(4, 28\)"):
        load_weights(path, KINDS["gru"], "torch")
    with pytest.raises(InputError, match="is not known"):
        load_weights(path, KINDS["rnn"], "pytorch")


# --- the remedies that a refusal names, each followed ---------------------------------------------

GRU_RUN = [
    "timemachine-gru", "--framework", "numpy", "--data", "generated", "--data.window", "5",
    "--data.max_tokens", "500", "--batch-size", "4", "--model.num_hiddens", "8",
    "--max-steps", "2", "--quiet",
]  # fmt: skip


def said_by(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """What a command that is refused says."""
    capsys.readouterr()
    assert main(argv) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("framework", ["torch", "paddle", "mindspore", "mxnet"])
def test_a_gru_that_resets_before_can_leave_as_the_message_says(
    framework: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, after = str(tmp_path / "run"), str(tmp_path / "after")
    assert main(["train", *GRU_RUN, "--out", run]) == 0
    out = str(tmp_path / "out.safetensors")
    said = said_by(capsys, "convert", run, "--to", framework, "--out", out)
    assert "model.reset = 'before'" in said
    assert "Write the layout of tensorflow, jax or lockstep (--to lockstep)" in said
    assert "or train with --model.reset after and convert that run" in said
    for other in ("tensorflow", "jax", "lockstep"):
        file = str(tmp_path / f"{other}.safetensors")
        assert main(["convert", run, "--to", other, "--out", file]) == 0
    assert main(["train", *GRU_RUN, "--model.reset", "after", "--out", after]) == 0
    assert main(["convert", after, "--to", framework, "--out", out]) == 0


def test_a_runs_model_is_not_described_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, out = str(tmp_path / "run"), str(tmp_path / "out.safetensors")
    assert main(["train", *GRU_RUN, "--out", run]) == 0
    argv = ["convert", run, "--to", "torch", "--out", out, "--model.reset", "after"]
    assert "model.reset = 'after': a run's own spec says what its model is" in said_by(
        capsys, *argv
    )


def test_a_file_of_a_framework_is_read_as_the_message_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, file = str(tmp_path / "run"), str(tmp_path / "torch.safetensors")
    assert main(["train", *GRU_RUN, "--model.reset", "after", "--out", run]) == 0
    assert main(["convert", run, "--to", "torch", "--out", file]) == 0
    argv = ["convert", file, "--from", "torch", "--model", "timemachine-gru", "--to", "lockstep",
            "--model.num_hiddens", "8", "--out", str(tmp_path / "ours.safetensors")]  # fmt: skip
    assert "Give --model.reset after" in said_by(capsys, *argv)
    assert main([*argv, "--model.reset", "after"]) == 0


@pytest.mark.skipif("torch" not in registry.installed(), reason="torch is not installed")
@pytest.mark.parametrize("remedy", [["--model.reset", "after"], ["--style", "scratch"]])
def test_training_in_layers_that_reset_after(
    remedy: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["train", *GRU_RUN, "--framework", "torch", "--style", "concise", "--out",
            str(tmp_path / "run"), "--model.reset", "before"]  # fmt: skip
    said = said_by(capsys, *argv)
    assert "Use --model.reset after, or --style scratch." in said
    assert main([*argv, *remedy]) == 0


def test_weights_from_what_is_no_file(tmp_path: Path) -> None:
    """A pipe to which nobody writes must not be waited for."""
    os.mkfifo(tmp_path / "pipe.safetensors")
    for path in (tmp_path, tmp_path / "pipe.safetensors"):
        with pytest.raises(InputError, match="is not a file"):
            load_weights(path, KINDS["mlp"])
