"""A person's own arrays and own model over Ops: the same run in every framework."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lockstep as ls
from lockstep.errors import InputError, RunDirectoryError
from lockstep.spec import Adam, Momentum
from lockstep.task import Own

from .own_models import Scaled, two_layers
from .running import assert_learned, assert_same_run, at_step, lockstep

FRAMEWORKS = ["numpy", "torch", "jax"]
RNG = np.random.default_rng(7)
X = RNG.normal(size=(90, 4))
Y = np.sin(X[:, 0]) + 0.5 * X[:, 1]
LABELS = (Y > 0).astype(np.int32) + (Y > 1)
WEIGHTS = {
    "w1": 0.5 * RNG.normal(size=(4, 8)),
    "b1": np.zeros(8),
    "w2": 0.5 * RNG.normal(size=(8, 1)),
    "b2": np.zeros(1),
}
THREE = WEIGHTS | {"w2": 0.5 * RNG.normal(size=(8, 3)), "b2": np.zeros(3)}


def regression(**changes: Any) -> Own:
    given: dict[str, Any] = {"weights": WEIGHTS, "x_test": X[70:], "y_test": Y[70:]} | changes
    return ls.own(two_layers, X[:70], Y[:70], **given)


def classification() -> Own:
    return ls.own(two_layers, X, LABELS, weights=THREE, loss="cross_entropy")


def test_the_same_losses_in_every_framework() -> None:
    mine = regression()
    spec = mine.run(lr=0.2, batch_size=16, epochs=4, precision="float64", optimizer=Momentum())
    results = [ls.train(replace(spec, framework=name), mine) for name in FRAMEWORKS]
    assert_learned(results[0])
    for result in results[1:]:
        # float64, 20 updates: only the order of sums differs
        np.testing.assert_allclose(
            result.history[:, "loss"], results[0].history[:, "loss"], rtol=1e-10
        )
        assert result.metrics["test_loss"] == pytest.approx(results[0].metrics["test_loss"])


def test_the_loss_is_that_of_the_formula() -> None:
    mine = regression()
    result = ls.train(mine.run(batch_size=70, epochs=2, precision="float64"), mine)
    w = result.weights
    error = np.tanh(X[70:] @ w["w1"] + w["b1"]) @ w["w2"] + w["b2"] - Y[70:, None]
    # one sum of 20 squares in another order
    assert result.metrics["test_loss"] == pytest.approx((error**2).mean() / 2, rel=1e-13)
    start = np.tanh(X[:70] @ WEIGHTS["w1"]) @ WEIGHTS["w2"] - Y[:70, None]
    assert result.history[0, "loss"] == pytest.approx((start**2).mean() / 2, rel=1e-12)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_classifier(framework: str) -> None:
    mine = classification()
    spec = mine.run(lr=0.05, epochs=12, optimizer=Adam(), framework=framework, evaluate=("train",))
    result = ls.train(spec, mine)
    assert_learned(result)
    # three classes, the largest with half of the examples: better than naming that one
    assert result.metrics["final_train_accuracy"] > 0.6


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_resumed_by_the_models_file(framework: str, tmp_path: Path) -> None:
    """Without giving the task again: arrays from the folder, the function from its file."""
    mine = regression()
    spec = mine.run(lr=0.2, batch_size=16, epochs=3, framework=framework, optimizer=Momentum())
    whole = ls.train(spec, mine)
    ls.train(spec, mine, out=tmp_path / "run", callbacks=[at_step(4)], event_steps=1)
    assert_same_run(whole, ls.resume(tmp_path / "run"))


def test_resumed_by_the_command(tmp_path: Path) -> None:
    mine = regression()
    spec = mine.run(batch_size=16, epochs=3)
    whole = ls.train(spec, mine)
    ls.train(spec, mine, out=tmp_path / "run", callbacks=[at_step(4)], event_steps=1)
    done = lockstep("resume", "run", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert_same_run(whole, ls.resume(tmp_path / "run"))


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_weight_without_axes_keeps_its_shape(framework: str, tmp_path: Path) -> None:
    weights = {"w": np.ones((4, 1)), "scale": np.array(2.0)}
    mine = ls.own(Scaled.net, X, Y, weights=weights)
    assert mine.reference.endswith("own_models.py:Scaled.net")
    spec = mine.run(lr=0.01, epochs=2, framework=framework, optimizer=Momentum())
    whole = ls.train(spec, mine)
    ls.train(spec, mine, out=tmp_path / "run", callbacks=[at_step(2)], event_steps=1)
    parts = ls.resume(tmp_path / "run")
    assert parts.weights["scale"].shape == ()
    assert_same_run(whole, parts)


def test_a_model_without_a_file_is_resumed_with_its_task(tmp_path: Path) -> None:
    mine = ls.own(lambda ops, w, x: x @ w["w"], X, Y, weights={"w": np.zeros((4, 1))})
    spec = mine.run(epochs=3)
    ls.train(spec, mine, out=tmp_path / "run", callbacks=[at_step(2)], event_steps=1)
    with pytest.raises(RunDirectoryError, match=r"ls\.resume\(folder, mine\)"):
        ls.resume(tmp_path / "run")
    assert_same_run(ls.train(spec, mine), ls.resume(tmp_path / "run", mine))


def test_a_function_with_arguments_bound() -> None:
    def net(ops: Any, w: Any, x: Any, power: int) -> Any:
        return (x @ w["w"]) ** power

    mine = ls.own(partial(net, power=1), X, Y, weights={"w": np.zeros((4, 1))})
    assert_learned(ls.train(mine.run(epochs=2), mine))


def test_the_folders_arrays_are_there_before_the_run_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill right after the spec was written must leave a run that can be resumed."""
    import lockstep.training.directory as directory

    written: list[str] = []
    real = directory.write_whole

    def note(path: Path, content: bytes) -> Path:
        written.append(f"{path.name} {(path.parent / 'own.safetensors').exists()}")
        return real(path, content)

    monkeypatch.setattr(directory, "write_whole", note)
    mine = regression()
    ls.train(mine.run(), mine, out=tmp_path / "run")
    assert "spec.toml True" in written


# --- mistakes -----------------------------------------------------------------------------------


def test_other_arrays_are_another_run(tmp_path: Path) -> None:
    mine, other = regression(), ls.own(two_layers, 2 * X[:70], Y[:70], weights=WEIGHTS)
    assert mine.digest != other.digest
    spec = mine.run()
    with pytest.raises(InputError, match=r"data\.digest = .*other arrays"):
        ls.train(spec, other)
    ls.train(spec, mine, out=tmp_path / "run")
    with pytest.raises(InputError, match=r"data\.digest = .*other arrays"):
        ls.resume(tmp_path / "run", other)


def test_the_digest_tells_splits_and_weights_apart() -> None:
    digests = {
        regression().digest,
        regression(x_test=None, y_test=None).digest,
        regression(x_test=X[60:80]).digest,
        regression(weights=WEIGHTS | {"b2": np.ones(1)}).digest,
        ls.own(two_layers, X[:70], Y[:70] + 1, weights=WEIGHTS).digest,
    }
    assert len(digests) == 5
    turned = dict(reversed(WEIGHTS.items()))
    assert regression(weights=turned).digest == regression().digest


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": Y[:5]}, r"y = \(5,\): does not match x \(90, 4\)"),
        ({"weights": None}, "weights = None: are missing"),
        ({"loss": "mse"}, "loss = 'mse': is not known"),
        ({"loss": "cross_entropy"}, "y = 'float64': are not labels"),
        ({"loss": "cross_entropy", "y": LABELS - 1}, "y = -1: is not a label"),
        ({"loss": "cross_entropy", "y": Y > 0}, "y = 'bool': are not labels.*astype"),
        ({"x": np.where(X > 2, np.nan, X)}, r"x = nan: is not finite \(row \d+\)"),
        ({"y": np.where(Y > 1, np.inf, Y)}, r"y = inf: is not finite"),
        ({"x": X.astype(object)}, "x = 'object': holds no real numbers"),
        ({"x": X.astype(str)}, "x = 'str.*': holds no real numbers"),
        ({"x": X + 1j}, "x = 'complex128': holds no real numbers"),
        ({"y": Y + 1j}, "y = 'complex128': holds no real numbers"),
        ({"x": X[:0], "y": Y[:0]}, r"x = \(0, 4\): is empty"),
        ({"x": X[:, :0]}, r"x = \(90, 0\): is empty"),
        ({"x": np.float64(3)}, r"x = 3.0: has no axis of examples"),
        ({"x": [[1.0], [1.0, 2.0]]}, r"x = ('list': is no array|'object': holds no)"),
        ({"x": np.full((90, 4), 2**31)}, "x = 2147483648: .*32 bits"),
        ({"weights": WEIGHTS | {"b2": np.full(1, np.nan)}}, r"weights\['b2'\] = nan"),
        ({"weights": WEIGHTS | {"b2": np.array(["1"])}}, r"weights\['b2'\] = 'str"),
        ({"x_test": X}, "y_test = None: is missing"),
        ({"y_test": Y}, "x_test = None: is missing"),
        ({"x_test": X, "y_test": Y[:3]}, r"y_test = \(3,\): does not match x_test"),
    ],
)
def test_arrays_that_cannot_be_used(change: dict[str, Any], message: str) -> None:
    given = {"x": X, "y": Y, "weights": WEIGHTS} | change
    with pytest.raises(InputError, match=message):
        ls.own(two_layers, **given)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"batchsize": 4}, r"field = 'batchsize': is not known\. Did you mean 'batch_size'"),
        ({"model": "mlp"}, r"field = 'model': is not known"),
        ({"data": {"max_examples": 10}}, r"data\.max_examples = 10: .*x\[:10\], y\[:10\]"),
        ({"data": {"ordering": 1}}, r"data field \(of own\) = 'ordering': is not known.*'order'"),
        ({"data": {"order": "down"}}, r"data\.order = 'down': is not known"),
        ({"data": "own"}, r"data = 'own': is not how own arrays are read"),
    ],
)
def test_fields_that_a_run_does_not_have(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        regression().run(**fields)


def test_the_order_of_the_arrays_can_be_chosen() -> None:
    spec = regression().run(data={"order": "in_order", "drop_last": True})
    assert (spec.data.order, spec.data.drop_last) == ("in_order", True)


def test_another_function_is_another_run(tmp_path: Path) -> None:
    """Two lambdas on a line, over the same arrays from the same weights."""
    one, other = (
        ls.own(net, X, Y, weights={"w": np.ones((4, 1))})
        for net in ((lambda ops, w, x: x @ w["w"]), (lambda ops, w, x: ops.tanh(x @ w["w"])))
    )
    assert one.run().hash != other.run().hash
    ls.train(one.run(), one, out=tmp_path / "run")
    with pytest.raises(InputError, match=r"model\.structure = .*x @ w.*there, .*tanh.*here"):
        ls.resume(tmp_path / "run", other)
    with pytest.raises(InputError, match=r"model\.structure = .*another model"):
        ls.train(one.run(), other)
    assert ls.resume(tmp_path / "run", one).status == "completed"


def test_a_run_of_before_the_structure_was_recorded_goes_on(tmp_path: Path) -> None:
    mine = regression()
    spec = mine.run(batch_size=16, epochs=3)
    whole = ls.train(spec, mine)
    for i, fields in enumerate(({}, {"spec": spec})):
        folder = tmp_path / str(i)
        ls.train(spec, mine, out=folder, callbacks=[at_step(4)], event_steps=1)
        (folder / "model.txt").unlink()
        lines = (folder / "spec.toml").read_text().splitlines(keepends=True)
        kept = [line for line in lines if not line.startswith(("structure =", "weights ="))]
        assert len(kept) == len(lines) - 2
        (folder / "spec.toml").write_text("".join(kept))
        assert_same_run(whole, ls.resume(folder, mine, **fields))


def test_a_spec_without_its_task() -> None:
    with pytest.raises(InputError, match=r"ls\.train\(run, mine\)"):
        ls.train(regression().run())


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_outputs_without_an_axis_are_refused(framework: str) -> None:
    """Targets are (B, 1): outputs (B,) would spread to (B, B), and train something else."""

    def flat(ops: Any, w: Any, x: Any) -> Any:
        return ops.sum(x @ w["w"], axis=1)

    mine = ls.own(flat, X, Y, weights={"w": np.ones((4, 1))})
    with pytest.raises(InputError, match=r"without an axis.*Return \(B, 1\)"):
        ls.train(mine.run(framework=framework), mine)
