"""Predictions: from the weights by an independent formula, and the same in every framework."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lockstep as ls
from lockstep.data import airfoil
from lockstep.errors import InputError
from lockstep.spec import GRU, Airfoil, RunSpec, TimeMachine
from lockstep.training.predictions import Predictions
from lockstep.training.result import Result

FRAMEWORKS = ("numpy", "torch", "jax")
DRAW = np.random.default_rng(8)
WIDTH, HEIGHT = DRAW.uniform(1, 9, 80), DRAW.uniform(20, 80, 80)
PRICE = 3 * WIDTH - 0.1 * HEIGHT + 20
KIND = np.where(HEIGHT < 6 * WIDTH, "flat", "tall")
NEW = np.array([[2.0, 50.0], [7.0, 30.0], [3.0, 70.0]])
PIXELS = DRAW.integers(0, 90, (40, 6, 5)) + 120 * (np.arange(40) % 2)[:, None, None]
TEXT = "the cat sat on the mat and the dog lay on the rug " * 20
TOLERANCE = 1e-9  # float64: what is left are other orders of sums over some hundred updates


@pytest.fixture
def files(tmp_path: Path) -> Path:
    columns = {"width": WIDTH, "height": HEIGHT}
    np.savez(tmp_path / "prices.npz", **columns, price=PRICE)
    np.savez(tmp_path / "kinds.npz", **columns, kind=KIND)
    names = np.array(["dark", "light"])[np.arange(40) % 2]
    np.savez(tmp_path / "marks.npz", x=PIXELS.astype(np.uint8), y=names)
    (tmp_path / "book.txt").write_text(TEXT)
    np.savez(tmp_path / "new.npz", height=NEW[:, 1], other=np.ones(3), width=NEW[:, 0])
    return tmp_path


def spec_of(files: Path, name: str, **fields: Any) -> RunSpec:
    recipe, file = {
        "price": ("table-linear", "prices.npz"),
        "kind": ("table-mlp", "kinds.npz"),
        "marks": ("images-mlp", "marks.npz"),
        "text": ("text-gru", "book.txt"),
    }[name]
    small = {"model.num_hiddens": 8, "data.window": 5} if name == "text" else {}
    given = {"precision": "float64", "batch_size": 16, "epochs": 2, "evaluate": ()}
    return ls.recipes.get(recipe, **{"data.file": str(files / file), **given, **small, **fields})


def given(name: str, files: Path) -> Any:
    """The same new examples, as a person has them in Python."""
    return {"price": NEW, "kind": NEW, "marks": PIXELS[:3].astype(np.uint8), "text": "the dog"}[
        name
    ]


def test_numbers_are_in_the_targets_own_units(files: Path) -> None:
    result = ls.train(spec_of(files, "price", **{"data.held_out": 0.0, "epochs": 30}))
    x = np.stack([WIDTH, HEIGHT], axis=1)
    scaled = (NEW - x.mean(axis=0)) / x.std(axis=0)
    expected = scaled @ result.weights["w"] + result.weights["b"]
    expected = expected[:, 0] * PRICE.std() + PRICE.mean()
    for asked in (NEW, files / "new.npz", {"height": NEW[:, 1], "width": NEW[:, 0]}):
        found = result.predict(asked)
        np.testing.assert_allclose(found.values, expected, rtol=1e-12)
    np.testing.assert_allclose(expected, 3 * NEW[:, 0] - 0.1 * NEW[:, 1] + 20, rtol=1e-3)


def test_classes_have_names_and_the_probability_of_each(files: Path) -> None:
    result = ls.train(spec_of(files, "kind", **{"epochs": 40, "data.held_out": 0.0}))
    x = np.stack([WIDTH, HEIGHT], axis=1)
    hidden = (NEW - x.mean(axis=0)) / x.std(axis=0)
    w = result.weights
    first, second = (sorted(n for n in w if n.startswith(kind)) for kind in ("w", "b"))
    hidden = np.maximum(hidden @ w[first[0]] + w[second[0]], 0)
    scores = np.exp(hidden @ w[first[1]] + w[second[1]])
    found = result.predict(NEW)
    expected = scores / scores.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.probabilities, expected, rtol=1e-12)
    assert found.values.tolist() == ["tall", "flat", "tall"]


@pytest.mark.parametrize("name", ["price", "kind", "marks", "text"])
def test_every_framework_predicts_the_same(files: Path, name: str) -> None:
    new = given(name, files)
    whole = {f: ls.train(spec_of(files, name, framework=f)) for f in FRAMEWORKS}
    expected = whole["numpy"].predict(new).outputs
    assert np.ptp(expected) > 1e-3  # the model says something
    for framework in FRAMEWORKS:
        found = whole[framework].predict(new).outputs
        np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)
    moved = whole["torch"].predict(new, framework="jax").outputs
    np.testing.assert_allclose(moved, expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_resumed_run_predicts_the_same(files: Path, framework: str) -> None:
    expected = ls.train(spec_of(files, "price")).predict(NEW)
    spec = spec_of(files, "price", framework=framework, max_steps=5)
    half = ls.train(spec, out=files / "half")
    assert np.abs(half.predict(NEW).values - expected.values).max() > 1e-3
    resumed = ls.resume(files / "half", spec=spec.with_fields({"max_steps": 0}))
    np.testing.assert_allclose(resumed.predict(NEW).values, expected.values, atol=TOLERANCE)


def test_a_run_on_the_chapters_images_predicts_those_of_a_file(files: Path) -> None:
    run = ls.recipes.fashion_softmax(
        max_steps=3, batch_size=40, evaluate=(), **{"data.source": "generated"}
    )
    result = ls.train(run)
    pictures = DRAW.integers(0, 256, (5, 28, 28)).astype(np.uint8)
    np.savez(files / "mine.npz", x=pictures)
    found = result.predict(files / "mine.npz")
    flat = pictures.reshape(5, -1) / 255
    expected = flat @ result.weights["w"] + result.weights["b"]
    np.testing.assert_allclose(found.outputs, expected, atol=1e-5)  # float32
    assert found.values.tolist() == expected.argmax(axis=1).astype(str).tolist()
    np.testing.assert_array_equal(result.predict(pictures).outputs, found.outputs)


def test_an_opened_run_needs_its_file_no_more(files: Path) -> None:
    result = ls.train(spec_of(files, "price", max_steps=5), out=files / "run")
    (files / "prices.npz").unlink()
    opened = ls.open(files / "run").predict(NEW)
    np.testing.assert_array_equal(opened.values, result.predict(NEW).values)
    assert repr(opened) == "<Predictions of price: 3 examples, in .values and .to_csv()>"


def test_the_perplexity_of_a_held_out_text_is_the_runs_own_to_begin_with(files: Path) -> None:
    """A model of equal probabilities for 28 symbols, and one that has learned."""
    before = ls.train(spec_of(files, "text", lr=0.0, max_steps=1))
    after = ls.train(spec_of(files, "text", epochs=20))
    text = "the cat lay on the rug"
    assert before.predict(text).perplexity == pytest.approx(28, rel=0.01)
    found = after.predict(text)
    assert found.perplexity is not None
    assert found.perplexity < 14
    assert found.columns()["symbol"] == list(text)
    likely = found.probabilities
    by_hand = [likely[i, found.classes.index(c)] for i, c in enumerate(text[1:])]
    assert found.perplexity == pytest.approx(math.exp(-np.mean(np.log(by_hand))), rel=1e-12)


def test_symbols_in_blocks_are_one_text(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = ls.train(spec_of(files, "text"))
    whole = result.predict(TEXT[:40])
    perplexity = whole.perplexity
    for room in ("model_outputs", "predictions"):
        monkeypatch.setattr(f"lockstep.training.{room}.BLOCK", 7)
    parts = result.predict(TEXT[:40])
    np.testing.assert_allclose(parts.outputs, whole.outputs, atol=1e-14)
    assert parts.perplexity == pytest.approx(perplexity, rel=1e-13)
    monkeypatch.setattr("lockstep.training.predict.MOST_BYTES", 28 * 8 * 39)
    with pytest.raises(InputError, match="has 40 symbols; with 28 scores for each, 39 fit"):
        result.predict(TEXT[:40])
    assert len(result.predict(TEXT[:38])) == 38


def test_a_run_on_the_airfoil_data_takes_measurements_in_their_own_units(tmp_path: Path) -> None:
    """The chapters' file itself gives the run's own loss, in decibels."""
    spec = ls.recipes.airfoil_linear(precision="float64", data=Airfoil(max_examples=1503), epochs=1)
    result = ls.train(spec, out=tmp_path / "run")
    table = np.loadtxt(airfoil.__file__.replace(".py", ".dat"))
    found = result.predict(table[:, :5]).values
    half_squares = ((found - table[:, 5]) / table[:, 5].std()) ** 2 / 2
    assert half_squares.mean() == pytest.approx(result.metrics["final_train_loss"], rel=1e-12)
    assert 100 < found.min() < found.max() < 150
    file = tmp_path / "new.dat"
    np.savetxt(file, table[:7], fmt="%.9g", delimiter="\t")
    opened = ls.open(tmp_path / "run").predict(file)
    np.testing.assert_allclose(opened.values, found[:7], rtol=1e-12)


def test_a_run_on_generated_rows_takes_them_as_they_are() -> None:
    spec = ls.recipes.airfoil_linear(precision="float64", data=Airfoil(source="generated"))
    result = ls.train(spec)
    x = DRAW.normal(size=(3, 5))
    expected = x @ result.weights["w"] + result.weights["b"]
    np.testing.assert_allclose(result.predict(x).outputs, expected, rtol=1e-12)


def test_a_run_on_the_time_machine_takes_a_text() -> None:
    data, model = TimeMachine(source="generated", window=5), GRU(num_hiddens=8)
    given = {"precision": "float64", "max_steps": 3}
    result = ls.train(ls.recipes.timemachine_gru(data=data, model=model, **given))
    found = result.predict("The CAT, sat!")
    assert found.columns()["symbol"] == list("the cat sat")
    continued = result.generate("the cat sat", 1)
    assert found.columns()["next"][-1] == continued[-1]


def affine(ops: Any, w: Any, x: Any) -> Any:
    return x @ w["w"]


def own_task() -> Any:
    x = DRAW.normal(size=(30, 2))
    y = x @ np.array([[2.0], [-1.0]])
    return ls.own(affine, x, y, weights={"w": np.zeros((2, 1))})


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_own_models_predict(framework: str) -> None:
    mine = own_task()
    run = mine.run(framework=framework, precision="float64", lr=0.1, epochs=20, batch_size=5)
    result = ls.train(run, mine)
    assert len(result.predict(NEW)) == 3
    np.testing.assert_allclose(result.predict(NEW).outputs, NEW @ result.weights["w"], rtol=1e-12)
    assert result.weights["w"][0, 0] > 1.5
    with pytest.raises(InputError, match=r"takes examples of shape \(2,\)"):
        result.predict(np.ones((3, 5)))


def torch_module() -> tuple[str, Any]:
    torch = pytest.importorskip("torch", reason="needs torch")
    torch.manual_seed(2)
    layers = torch.nn.Sequential(
        torch.nn.Linear(2, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 3)
    )
    return "torch", layers


def flax_module() -> tuple[str, Any]:
    linen = pytest.importorskip("flax", reason="needs flax").linen
    return "jax", linen.Sequential([linen.Dense(4), linen.tanh, linen.Dense(3)])


@pytest.mark.parametrize("make", [torch_module, flax_module])
def test_a_frameworks_own_module_predicts_in_evaluation_mode(make: Any) -> None:
    framework, module = make()
    x = DRAW.normal(size=(30, 2))
    mine = ls.own(module, x, np.arange(30) % 3, loss="cross_entropy")
    result: Result = ls.train(mine.run(framework=framework, epochs=2, batch_size=10), mine)
    found = result.predict(NEW)
    w = result.weights
    if framework == "torch":
        hidden = NEW @ w["0.weight"].T + w["0.bias"]  # no dropout
        expected = hidden @ w["2.weight"].T + w["2.bias"]
    else:
        hidden = np.tanh(NEW @ w["layers_0/kernel"] + w["layers_0/bias"])
        expected = hidden @ w["layers_2/kernel"] + w["layers_2/bias"]
    np.testing.assert_allclose(found.outputs, expected, rtol=1e-5)  # float32
    assert set(found.values.tolist()) <= {"0", "1", "2"}
    found = result.predict([[1, 2]])  # whole numbers, for a model that learned from floats
    np.testing.assert_array_equal(found.outputs, result.predict([[1.0, 2.0]]).outputs)
    with pytest.raises(InputError, match=f"a module of {framework}"):
        result.predict(NEW, framework="numpy")


def test_examples_that_do_not_fit_are_refused(files: Path) -> None:
    price = ls.train(spec_of(files, "price", max_steps=1))
    for wrong, problem in (
        (NEW[:, :1], "has not the features"),
        (NEW * np.nan, "row 0, column 'width' is no finite number"),
        ({"width": NEW[:, 0]}, "has no column 'height'"),
        (np.array([["a", "b"]]), "holds no numbers"),
        (NEW[:0], "has no examples"),
        ([[1.0, 2.0], [3.0]], "has rows of different lengths"),
        (
            {"width": [1.0, 2.0], "height": [3.0]},
            r"width \(2,\), height \(1,\)': has columns of diff",
        ),
        ({"width": [1.0, 2.0], "height": 3.0}, r"height \(\)': has columns of different lengths"),
        ("new.npz", r"Give the Path of a file: pathlib.Path\('new.npz'\)"),
    ):
        with pytest.raises(InputError, match=problem):
            price.predict(wrong)
    marks = ls.train(spec_of(files, "marks", max_steps=1))
    for wrong, problem in (
        (np.zeros((2, 6, 6), np.uint8), r"has pictures of shape \(6, 6\)"),
        (np.full((2, 6, 5), 200.0), "the model learned from bytes"),
    ):
        with pytest.raises(InputError, match=problem):
            marks.predict(wrong)


def test_a_text_without_a_known_symbol_is_named(files: Path) -> None:
    text = ls.train(spec_of(files, "text", max_steps=1))
    known = r"has none of the \d+ symbols that the model knows"
    (files / "other.txt").write_text("\u4f60\u597d\u4f60\u597d")
    with pytest.raises(InputError, match=rf"data.file = .*other.txt': {known}"):
        text.predict(files / "other.txt")
    with pytest.raises(InputError, match=f"x = '123': {known}"):
        text.predict("123")


def test_whole_numbers_are_taken_from_floats_that_are_whole() -> None:
    """As a table has them, for a model that learned from whole numbers."""
    x, w = np.arange(12).reshape(6, 2) % 4, {"w": np.zeros((4, 1))}
    mine = ls.own(lambda ops, w, x: ops.sum(ops.take(w["w"], x), axis=1), x, x.sum(1), weights=w)
    result = ls.train(mine.run(epochs=2, batch_size=3), mine)
    expected = result.weights["w"][[2, 1], 0] + result.weights["w"][[3, 0], 0]
    np.testing.assert_allclose(result.predict([[2.0, 3.0], [1.0, 0.0]]).values, expected, rtol=1e-6)
    with pytest.raises(InputError, match=r"x = 0.5: .* learned from \(int32\). Give whole numbers"):
        result.predict([[0.5, 1.0]])


def test_outputs_of_many_axes_go_into_an_npz_only(tmp_path: Path) -> None:
    found = Predictions(np.ones((2, 3, 4)), ("a", "b", "c", "d"))
    with pytest.raises(InputError, match=r"make no table\. Write them to an \.npz"):
        found.to_dict()
    shares = np.load(found.write(tmp_path / "p.npz"))["probabilities"]
    assert shares.tolist() == [[[0.25] * 4] * 3] * 2
