"""The validation part: which rows it has, and that nothing it holds settles anything."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep import recipes
from lockstep.data import airfoil, fashion_mnist, own_table, own_text
from lockstep.data.held_back import kept_rows, with_validation
from lockstep.errors import InputError
from lockstep.spec import Airfoil, ImageFiles, RunSpec, Table, TextFile, TimeMachine
from lockstep.task import assemble


def splits_of(spec: RunSpec) -> dict[str, Any]:
    return dict(assemble(spec).splits)


@given(st.integers(2, 400), st.floats(0.0, 0.95))
def test_every_row_is_in_one_part(count: int, fraction: float) -> None:
    x = np.arange(count)
    part = replace(Airfoil(), validation=fraction)
    if fraction and not 0 < round(count * fraction) < count:
        with pytest.raises(InputError, match=r"data\.validation"):
            with_validation({"train": {"x": x}}, part)
        return
    found = with_validation({"train": {"x": x}, "test": {"x": x}}, part)
    held = found["validation"]["x"] if fraction else x[:0]
    assert len(held) == round(count * fraction)
    train = found["train"]["x"]
    assert np.all(np.diff(train) > 0)  # in their order
    assert sorted([*train, *held]) == x.tolist()
    assert found["test"]["x"] is x


def test_the_rows_are_drawn_for_their_own_purpose() -> None:
    one, two = (kept_rows(f"data.{name}", 0.5, 100) for name in ("held_out", "validation"))
    assert one.sum() == two.sum() == 50
    assert not np.array_equal(one, two)
    assert not one[:50].all()


@pytest.mark.parametrize("recipe", ["airfoil-linear", "fashion-mlp", "recall-gru"])
def test_examples_of_every_set_and_seed(recipe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fields = {
        "airfoil-linear": {"data.max_examples": 60},
        "fashion-mlp": {"data.source": "generated", "data.max_examples": 60, "batch_size": 8},
        "recall-gru": {"data.num_sequences": 60, "data.window": 5, "batch_size": 8},
    }[recipe]
    few = fashion_mnist.generate(60, 5)
    monkeypatch.setattr(fashion_mnist, "generate", lambda seed=0: few)
    whole = splits_of(recipes.get(recipe, **fields))
    one = splits_of(recipes.get(recipe, **fields, **{"data.validation": 0.25}))
    assert "validation" not in whole
    rows = kept_rows("data.validation", 0.25, 60)
    for name, values in whole["train"].items():
        np.testing.assert_array_equal(one["train"][name], values[rows])
        np.testing.assert_array_equal(one["validation"][name], values[~rows])
    if recipe != "recall-gru":  # which is drawn from the seed
        again = splits_of(recipes.get(recipe, seed=7, **fields, **{"data.validation": 0.25}))
        np.testing.assert_array_equal(again["validation"]["x"], one["validation"]["x"])


def test_no_example_is_copied_into_the_other_part() -> None:
    part = Airfoil(max_examples=40, copies=3, validation=0.2)
    splits = airfoil.DATA_SET.load(part, 0, None).splits
    assert len(splits["train"]["x"]) == 3 * 32
    assert len(splits["validation"]["x"]) == 8
    train = {row.tobytes() for row in splits["train"]["x"]}
    assert not train & {row.tobytes() for row in splits["validation"]["x"]}


def test_a_table_is_standardised_by_what_is_trained_on(tmp_path: Path) -> None:
    """Values that are whole numbers come back exactly, up to the rounding of one division."""
    rng = np.random.default_rng(5)
    rows = rng.integers(-50, 50, size=(80, 3)).astype(float)
    file = tmp_path / "t.csv"
    file.write_text("\n".join(["a,b,price", *(",".join(map(str, row)) for row in rows)]))
    part = Table(file=str(file), held_out=0.25, validation=0.2)
    loaded = own_table.DATA_SET.load(part, 0, None)
    splits, encoding = loaded.splits, loaded.encoding
    assert encoding is not None
    sizes = {name: len(arrays["x"]) for name, arrays in splits.items()}
    assert sizes == {"train": 48, "validation": 12, "test": 20}
    np.testing.assert_allclose(splits["train"]["x"].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(splits["train"]["x"].std(axis=0), 1, rtol=1e-12)
    np.testing.assert_allclose(splits["train"]["y"].std(), 1, rtol=1e-12)
    back = {
        name: np.hstack(
            [
                arrays["x"] * encoding.stds + encoding.means,
                arrays["y"] * encoding.target_std + encoding.target_mean,
            ]
        )
        for name, arrays in splits.items()
    }
    found = np.round(np.concatenate(list(back.values())), 6)
    assert sorted(map(tuple, found)) == sorted(map(tuple, rows))
    whole = own_table.DATA_SET.load(replace(part, validation=0.0), 0, None)
    np.testing.assert_array_equal(len(whole.splits["train"]["x"]), 60)
    assert whole.encoding is not None
    assert whole.encoding.means != encoding.means


def test_of_a_table_the_first_examples_are_used_and_then_cut(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("\n".join(["a,price", *(f"{i * i},{i}" for i in range(40))]))
    part = Table(file=str(file), max_examples=20, validation=0.5, standardize="none")
    splits = own_table.DATA_SET.load(part, 0, None).splits
    y = [*splits["train"]["y"].ravel(), *splits["validation"]["y"].ravel()]
    assert sorted(y) == list(range(20))


def test_of_a_text_the_end_of_what_is_used_before_what_is_held_out(tmp_path: Path) -> None:
    """80 symbols: 10 held out, of the 70 others 14; z is met there only."""
    text = "ab" * 28 + "z" * 14 + "ba" * 5
    file = tmp_path / "t.txt"
    file.write_text(text)
    for symbols in ("letters", "all"):
        part = TextFile(file=str(file), symbols=symbols, window=4, held_out=0.125, validation=0.2)
        loaded = own_text.DATA_SET.load(part, 0, None)
        assert loaded.vocabulary is not None
        splits = with_validation(loaded.splits, part)
        read = {n: loaded.vocabulary.decode(s["tokens"]) for n, s in splits.items()}
        if symbols == "letters":
            assert read == {"train": text[:56], "validation": text[56:70], "test": text[70:]}
            assert loaded.vocabulary.symbols.index("z") > 2  # by counts where it is not
        else:  # what the training part lacks is unknown
            assert read["validation"] == "<unk>" * 14
            assert loaded.vocabulary.symbols == ("<unk>", "a", "b")
    with pytest.raises(InputError, match="fewer than a window"):
        with_validation({"train": {"tokens": np.zeros(50)}}, TimeMachine(validation=0.1, window=5))


def test_the_validation_part_is_measured_and_older_hashes_stay() -> None:
    spec = recipes.fashion_mlp()
    assert spec.measured == spec.evaluate == ("test",)
    assert spec.with_fields({"data.validation": 0.0}).hash == spec.hash
    held = spec.with_fields({"data.validation": 0.1})
    assert held.hash != spec.hash
    assert held.measured == ("validation", "test")
    twice = replace(held, evaluate=("test", "validation"))
    assert twice.measured == ("test", "validation")
    with pytest.raises(InputError, match="evaluate = 'validation'"):
        assemble(recipes.airfoil_linear(evaluate=("validation",)))
    with pytest.raises(InputError, match=r"data\.validation = 1\.0"):
        ImageFiles(validation=1.0)
