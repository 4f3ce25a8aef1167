"""`lockstep predict` as it is typed: files in, files out, and what is refused."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import lockstep as ls
from lockstep.frameworks import environments, registry
from lockstep.processes.children import collect
from lockstep.task.own_files import function_at
from lockstep.training import model_outputs

from .conftest import Command

DRAW = np.random.default_rng(5)
WIDTH, HEIGHT = DRAW.uniform(1, 9, 60), DRAW.uniform(20, 80, 60)
PRICE = 3 * WIDTH - 0.1 * HEIGHT
NEW = "height,colour,width\n50,red,2\n30,blue,7\n"


@pytest.fixture
def run(lockstep: Command, folder: Path) -> str:
    """A table's run, whose file is gone."""
    table = np.stack([WIDTH, HEIGHT, PRICE], axis=1).tolist()
    rows = [",".join(map(repr, row)) for row in table]
    (folder / "prices.csv").write_text("\n".join(["width,height,price", *rows]))
    done = lockstep(
        "train", "table-linear", "--data.file", "prices.csv", "--data.held_out", "0",
        "--evaluate", "train", "--framework", "numpy", "--epochs", "20", "--out", "run", "--quiet",
    )  # fmt: skip
    assert done.code == 0, done.err
    (folder / "prices.csv").unlink()
    (folder / "new.csv").write_text(NEW)
    return "run"


def expected(folder: Path, x: np.ndarray) -> np.ndarray:
    """By the weights in the run's own checkpoint."""
    w = load_file(max(folder.glob("run/checkpoints/step-*.safetensors")))
    rows = np.stack([WIDTH, HEIGHT], axis=1)
    scores = (x - rows.mean(axis=0)) / rows.std(axis=0) @ w["weights/w"] + w["weights/b"]
    return scores[:, 0] * PRICE.std() + PRICE.mean()


def test_columns_are_found_by_name(lockstep: Command, run: str, folder: Path) -> None:
    want = expected(folder, np.array([[2.0, 50.0], [7.0, 30.0]]))
    done = lockstep("predict", run, "--data.file", "new.csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    found = [float(row["prediction"]) for row in rows]
    np.testing.assert_allclose(found, want, rtol=1e-5)  # float32
    told = lockstep("predict", run, "--data.file", "new.csv", "--json").json
    assert (told["predictions"]["prediction"], told["target"]) == (found, "price")


def test_files_hold_what_stdout_shows(lockstep: Command, run: str, folder: Path) -> None:
    from pyarrow import parquet

    shown = lockstep("predict", run, "--data.file", "new.csv").out
    found = [float(value) for value in shown.split()[1:]]
    for name in ("p.csv", "p.npz", "p.parquet"):
        assert lockstep("predict", run, "--data.file", "new.csv", "--out", name).code == 0
    assert (folder / "p.csv").read_text() == shown
    assert np.load(folder / "p.npz")["prediction"].tolist() == found
    assert parquet.read_table(folder / "p.parquet")["prediction"].to_pylist() == found


def test_a_file_without_header_has_the_features_in_their_order(
    lockstep: Command, run: str, folder: Path
) -> None:
    (folder / "plain.txt").write_text("2;50\n7;30\n")
    named = lockstep("predict", run, "--data.file", "new.csv").out
    assert lockstep("predict", run, "--data.file", "plain.txt").out == named
    wrong = lockstep("predict", run, "--data.file", "plain.txt", "--data.separator", "tab")
    assert wrong.code == 2


def test_a_framework_may_have_its_own_python(
    lockstep: Command, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = lockstep("predict", run, "--data.file", "new.csv")
    monkeypatch.setattr(registry, "is_installed", lambda name: False)
    monkeypatch.setattr(environments, "interpreter", lambda name: sys.executable)
    started = []
    monkeypatch.setattr(model_outputs, "collect", lambda *a: started.append(a) or collect(*a))
    apart = lockstep("predict", run, "--data.file", "new.csv")
    assert (apart.code, apart.out, len(started)) == (0, here.out, 1)


WRONG = {
    "not a column": ("wdth,height\n1,2\n", "has no column 'width'"),
    "no names": ("1,2,3\n4,5,6\n", "Name the columns in its first line"),
    "a word": ("width,height\n1,2\nbig,3\n", "line 3, column 'width': 'big' is no number"),
    "a gap": ("width,height\n1,2\n3,\n", "line 3, column 'height': '' is missing"),
    "infinite": ("width,height\n1,inf\n", "line 2, column 'height': 'inf' is infinite"),
    "empty": ("", "is empty"),
    "no rows": ("width,height\n", "has no rows"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_does_not_fit_is_refused(
    mistake: Callable[..., str], run: str, folder: Path, name: str
) -> None:
    content, problem = WRONG[name]
    (folder / "wrong.csv").write_text(content)
    said = mistake("predict", run, "--data.file", "wrong.csv")
    assert problem in said
    assert "wrong.csv" in said


def test_the_nearest_column_is_named(mistake: Callable[..., str], run: str, folder: Path) -> None:
    (folder / "wrong.csv").write_text("wdth,height\n1,2\n")
    assert "Is it 'wdth'?" in mistake("predict", run, "--data.file", "wrong.csv")


def test_options_that_are_settled_are_refused(
    mistake: Callable[..., str], run: str, folder: Path
) -> None:
    assert "Give the new examples: --data.file" in mistake("predict", run)
    new = ("--data.file", "new.csv")
    assert "End it in .csv, .npz, .parquet" in mistake("predict", run, *new, "--out", "p.txt")
    assert "is there already" in mistake("predict", run, *new, "--out", "new.csv")
    assert "settled" in mistake("predict", run, *new, "--model.kind", "mlp")
    assert "is not how a new file is read" in mistake("predict", run, *new, "--data.target", "a")
    assert "is not there" in mistake("predict", run, "--data.file", "nowhere.csv")
    assert "is not a run" in mistake("predict", "nothing", *new)


def test_pictures_of_a_folder_have_their_names(
    lockstep: Command, mistake: Callable[..., str], folder: Path
) -> None:
    from PIL import Image

    for kind, level in (("dark", 40), ("light", 220)):
        (folder / "marks" / kind).mkdir(parents=True)
        for i in range(6):
            pixels = np.clip(DRAW.normal(level, 15, (8, 8, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / "marks" / kind / f"{i}.png")
    train = ("train", "images-softmax", "--data.file", "marks", "--batch-size", "4")
    done = lockstep(*train, "--framework", "numpy", "--out", "run", "--quiet", "--epochs", "30")
    assert done.code == 0, done.err
    rows = list(csv.DictReader(io.StringIO(lockstep("predict", "run", "--data.file", "marks").out)))
    assert [row["file"] for row in rows][:2] == ["dark/0.png", "dark/1.png"]
    assert all(row["file"].startswith(row["prediction"]) for row in rows)
    one = rows[0]
    assert float(one["probability dark"]) + float(one["probability light"]) == pytest.approx(1)
    Image.new("RGB", (9, 8)).save(folder / "wide.png")
    assert "(3, 8, 9)" in mistake("predict", "run", "--data.file", "wide.png")


def test_a_text_has_a_perplexity(lockstep: Command, folder: Path) -> None:
    (folder / "book.txt").write_text("banana bandana " * 60)
    small = ("--data.window", "5", "--batch-size", "8", "--model.num_hiddens", "8")
    train = ("train", "text-rnn", "--data.file", "book.txt", *small, "--framework", "numpy")
    assert lockstep(*train, "--epochs", "20", "--out", "run", "--quiet").code == 0
    for text, least, most in (("banana bandana banana", 1.0, 3.0), ("zebra quiz", 20.0, np.inf)):
        (folder / "new.txt").write_text(text)
        told = lockstep("predict", "run", "--data.file", "new.txt", "--json").json
        assert least <= told["perplexity"] < most
        assert "".join(told["predictions"]["symbol"]) == text
    (folder / "one.txt").write_text("a")  # nothing comes after it, so it has no perplexity
    done = lockstep("predict", "run", "--data.file", "one.txt", "--out", "one.npz")
    assert (done.code, done.out) == (0, "one.npz  1 rows; symbols: 1\n")
    done = lockstep("predict", "run", "--data.file", "new.txt", "--out", "new.npz")
    assert done.code == 0, done.err
    written = np.load(folder / "new.npz")
    for name in ("symbol", "next"):
        assert written[name].tolist() == told["predictions"][name]
    assert written["probability"][1:].tolist() == told["predictions"]["probability"][1:]


def test_a_chapters_run_reads_files_like_its_own(
    lockstep: Command, mistake: Callable[..., str], folder: Path
) -> None:
    train = ("train", "airfoil-linear", "--framework", "numpy", "--max-steps", "200", "--quiet")
    assert lockstep(*train, "--out", "run").code == 0
    (folder / "new.dat").write_text("800\t0\t0.3048\t71.3\t0.00266337\n")
    said = lockstep("predict", "run", "--data.file", "new.dat", "--json").json
    assert 110 < said["predictions"]["prediction"][0] < 140  # decibels; 126.201 was measured
    (folder / "new.csv").write_text(NEW)
    assert "no column '4'" in mistake("predict", "run", "--data.file", "new.csv")


def test_a_run_on_generated_sequences_says_what_to_do(
    lockstep: Command, mistake: Callable[..., str], folder: Path
) -> None:
    train = ("train", "recall-gru", "--framework", "numpy", "--max-steps", "1", "--quiet")
    assert lockstep(*train, "--out", "run").code == 0
    (folder / "new.txt").write_text("some text")
    assert "table-linear" in mistake("predict", "run", "--data.file", "new.txt")


def test_an_own_model_is_found_by_its_file(lockstep: Command, folder: Path) -> None:
    (folder / "nets.py").write_text("def affine(ops, w, x):\n    return x @ w['w']\n")
    affine = function_at(f"{folder / 'nets.py'}:affine")
    x = DRAW.normal(size=(20, 2))
    mine = ls.own(affine, x, x @ np.array([2.0, -1.0]), weights={"w": np.zeros((2, 1))})
    result = ls.train(mine.run(epochs=5, batch_size=5), mine, out=folder / "run")
    np.savez(folder / "new.npz", x=x[:3])
    (folder / "new.csv").write_text("".join(f"{a!r},{b!r}\n" for a, b in x[:3].tolist()))
    for name in ("new.npz", "new.csv"):
        done = lockstep("predict", "run", "--data.file", name)
        assert done.code == 0, done.err
        found = [float(value) for value in done.out.split()[1:]]
        np.testing.assert_allclose(found, (x[:3] @ result.weights["w"])[:, 0], rtol=1e-5)


def test_an_own_model_that_was_edited_is_refused(
    lockstep: Command, mistake: Callable[..., str], folder: Path
) -> None:
    """Its weights were learned by another model, so what it says would be of neither."""
    (folder / "nets.py").write_text("def affine(ops, w, x):\n    return x @ w['w']\n")
    affine = function_at(f"{folder / 'nets.py'}:affine")
    x = DRAW.normal(size=(20, 2))
    mine = ls.own(affine, x, x @ np.array([2.0, -1.0]), weights={"w": np.zeros((2, 1))})
    ls.train(mine.run(epochs=5, batch_size=5), mine, out=folder / "run")
    np.savez(folder / "new.npz", x=x[:3])
    (folder / "nets.py").write_text("def affine(ops, w, x):\n    return ops.tanh(x @ w['w'])\n")
    refused = mistake("predict", "run", "--data.file", "new.npz")
    assert "return x @ w['w']" in refused
    assert "return ops.tanh(x @ w['w'])" in refused
    np.savez(folder / "narrow.npz", x=x[:3, :1])
    (folder / "nets.py").write_text("def affine(ops, w, x):\n    return x @ w['w']\n")
    assert "Give an array (N, 2)." in mistake("predict", "run", "--data.file", "narrow.npz")


def test_an_own_metric_without_a_file_is_named(mistake: Callable[..., str], folder: Path) -> None:
    (folder / "nets.py").write_text("def affine(ops, w, x):\n    return x @ w['w']\n")
    affine = function_at(f"{folder / 'nets.py'}:affine")
    x = DRAW.normal(size=(20, 2))
    mine = ls.own(
        affine, x, x.sum(1), weights={"w": np.zeros((2, 1))},
        metrics={"bias": lambda ops, outputs, y: ops.sum(outputs - y, axis=1)},
    )  # fmt: skip
    ls.train(mine.run(epochs=1, batch_size=5), mine, out=folder / "run")
    np.savez(folder / "new.npz", x=x[:3])
    refused = mistake("predict", "run", "--data.file", "new.npz")
    assert "its bias has no file to be found in. Predict from Python: result.predict(x)." in refused


def test_the_fastest_framework_is_no_place_to_predict(
    mistake: Callable[..., str], run: str, folder: Path
) -> None:
    refused = mistake("predict", run, "--data.file", "new.csv", "--framework", "fastest")
    assert "framework = 'fastest': stands for one that is chosen to train a run" in refused
