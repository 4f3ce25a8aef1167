"""Training on one's own files from the command line, and what is refused on the way."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from lockstep.data import generator

from .conftest import Command

FRAMEWORKS = ("numpy", "torch", "jax")
WORDS = "the cat sat on the mat and the dog lay on the rug \n"


@pytest.fixture
def files(folder: Path) -> Path:
    """A table, a text and pictures that can be learned in a few steps."""
    draw = generator(3, "files of a test")
    width, height = draw.uniform(1, 9, 60), draw.uniform(20, 80, 60)
    rows = [f"{w:.4f},{h:.3f},{3 * w - 0.1 * h:.5f}" for w, h in zip(width, height, strict=True)]
    (folder / "prices.csv").write_text("\n".join(["width,height,price", *rows]) + "\n")
    kinds = ["flat" if h < 6 * w else "tall" for w, h in zip(width, height, strict=True)]
    rows = [f"{w:.4f}\t{h:.3f}\t{k}" for w, h, k in zip(width, height, kinds, strict=True)]
    (folder / "kinds.tsv").write_text("\n".join(["width\theight\tkind", *rows]) + "\n")
    (folder / "book.txt").write_text(WORDS * 40)
    y = np.arange(40) % 2
    x = draw.integers(0, 90, (40, 16, 20, 3)) + 120 * y[:, None, None, None]
    np.savez(folder / "marks.npz", x=x.astype(np.uint8), y=np.array(["dark", "light"])[y])
    return folder


TABLE = ("table-linear", "--data.file", "prices.csv", "--data.target", "price")
TEXT = (
    "text-gru", "--data.file", "book.txt", "--data.window", "5", "--model.num_hiddens", "8",
    "--batch-size", "4",
)  # fmt: skip
IMAGES = ("images-lenet", "--data.file", "marks.npz", "--batch-size", "10")
KINDS = ("table-softmax", "--data.file", "kinds.tsv", "--data.target", "kind", "--batch-size", "8")


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("words", [TABLE, TEXT, IMAGES, KINDS], ids=lambda words: words[0])
def test_own_files_train(
    lockstep: Command, files: Path, words: tuple[str, ...], framework: str
) -> None:
    done = lockstep("train", *words, "--framework", framework, "--epochs", "2", "--json", "--quiet")
    assert done.code == 0, done.err
    metrics = done.json["metrics"]
    losses = [value for name, value in metrics.items() if name.endswith("loss")]
    assert losses
    assert all(np.isfinite(losses))
    (record,) = files.glob("runs/*/data.json")
    kept = json.loads(record.read_bytes())
    name = words[2]
    assert kept["digest"] == f"sha256:{hashlib.sha256((files / name).read_bytes()).hexdigest()}"


def test_a_table_with_a_rule_is_learned(lockstep: Command, files: Path) -> None:
    """The price is linear in the features: held-out rows are predicted almost without error."""
    done = lockstep("train", *TABLE, "--epochs", "60", "--framework", "numpy", "--json", "--quiet")
    assert done.json["metrics"]["test_loss"] < 1e-6


def test_several_devices_compare_and_sweep(lockstep: Command, files: Path) -> None:
    done = lockstep(
        "compare", *TABLE, "--frameworks", "numpy,torch,jax", "--devices", "2", "--max-steps", "8",
        "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    swept = lockstep(
        "sweep", *TABLE, "--grid", "lr=0.01,0.1", "seed=0,1", "--epochs", "2", "--framework", "jax"
    )
    assert swept.code == 0, swept.err


def test_a_toml_file_names_the_file(lockstep: Command, files: Path) -> None:
    (files / "run.toml").write_text(
        'name = "mine"\nframework = "numpy"\nepochs = 1\nbatch_size = 10\nevaluate = ["test"]\n'
        'schedule = "constant(0.1)"\n'
        '[data]\nkind = "table"\nfile = "prices.csv"\ntarget = "price"\nheld_out = 0.25\n'
        '[model]\nkind = "linear"\n[optimizer]\nkind = "sgd"\n'
    )
    done = lockstep("train", "run.toml", "--json", "--quiet")
    assert done.code == 0, done.err


@pytest.mark.parametrize("finished", [False, True], ids=["in mid-run", "completed"])
def test_a_changed_file_is_refused_with_both_digests(
    lockstep: Command, mistake: Callable[..., str], files: Path, finished: bool
) -> None:
    steps = () if finished else ("--max-steps", "7")
    assert lockstep("train", *TABLE, *steps, "--framework", "numpy", "--out", "run").code == 0
    path = files / "prices.csv"
    before = path.read_bytes()
    path.write_bytes(before + b"1,2,3\n")
    said = mistake("resume", "run", *(() if finished else ("--max-steps", "20")))
    for content in (before, before + b"1,2,3\n"):
        assert f"sha256:{hashlib.sha256(content).hexdigest()}" in said
    path.rename(files / "moved.csv")
    assert "is not there" in mistake("resume", "run", "--max-steps", "20")
    (files / "moved.csv").write_bytes(before)
    assert lockstep("resume", "run", "--data.file", "moved.csv", "--max-steps", "20").code == 0


def test_a_changed_folder_is_refused_with_both_digests(
    lockstep: Command, mistake: Callable[..., str], files: Path
) -> None:
    """A file that was added, and one that has only another name."""
    (files / "texts").mkdir()
    (files / "book.txt").rename(files / "texts" / "a.txt")
    words = ("--data.file", "texts", *TEXT[3:])
    train = ("train", "text-gru", *words, "--framework", "numpy", "--max-steps", "2")
    assert lockstep(*train, "--out", "run").code == 0
    began = json.loads((files / "run" / "data.json").read_bytes())["digest"]
    (files / "texts" / "b.txt").write_text(WORDS)
    said = mistake("resume", "run", "--max-steps", "4")
    assert began in said
    assert said.count("sha256:") == 2
    (files / "texts" / "b.txt").unlink()
    (files / "texts" / "a.txt").rename(files / "texts" / "c.txt")
    assert mistake("resume", "run", "--max-steps", "4").count("sha256:") == 2
    (files / "texts" / "c.txt").rename(files / "texts" / "a.txt")
    assert lockstep("resume", "run", "--max-steps", "4").code == 0


def digest_of_run(lockstep: Command, *words: str) -> str:
    done = lockstep("train", *words, "--framework", "numpy", "--max-steps", "2", "--out", "seen")
    assert done.code == 0, done.err
    shutil.rmtree("seen")
    return lockstep("data", "look", words[2], "--json").json["digest"]


def test_hidden_files_of_a_folder_are_left_out(lockstep: Command, files: Path) -> None:
    """Systems and editors leave them behind: ._a.txt is not UTF-8, and no folder of a class."""
    from PIL import Image

    texts, marks = files / "texts", files / "marks"
    for folder, file in ((texts, "a.TXT"), (marks / "cat", "0.png"), (marks / "dog", "0.png")):
        folder.mkdir(parents=True)
        Image.new("L", (12, 12), 9).save(folder / file, "PNG")
    (texts / "a.TXT").write_text(WORDS * 40)
    few = ("--batch-size", "2", "--data.held_out", "0", "--evaluate", "train", "--quiet")
    cases = [
        ("text-rnn", "--data.file", "texts", *few),
        ("images-mlp", "--data.file", "marks", *few),
    ]
    before = [digest_of_run(lockstep, *words) for words in cases]
    (texts / "._a.txt").write_bytes(b"\0\5\x16\7")
    (marks / "cat" / "._0.png").write_bytes(b"\0\5\x16\7")
    (marks / ".ipynb_checkpoints").mkdir()
    shutil.copy(marks / "cat" / "0.png", marks / ".ipynb_checkpoints" / "0-checkpoint.png")
    assert [digest_of_run(lockstep, *words) for words in cases] == before
    assert lockstep("data", "look", "marks", "--json").json["counts"] == {"cat": 1, "dog": 1}


def idx(values: np.ndarray) -> bytes:
    sizes = b"".join(int(size).to_bytes(4, "big") for size in values.shape)
    return b"\0\0\x08" + bytes([values.ndim]) + sizes + values.astype(np.uint8).tobytes()


def test_pictures_under_other_names(lockstep: Command, files: Path) -> None:
    """As Keras names MNIST's arrays and shapes labels, as some unpack its files: one result."""
    x = generator(4, "pictures of a test").integers(0, 255, (20, 13, 13)).astype(np.uint8)
    y = np.arange(20) % 4
    np.savez(files / "plain.npz", x=x, y=y)
    np.savez(files / "floats.npz", x=x, y=y.astype(float))
    np.savez(files / "keras.npz", x_train=x, y_train=y[:, None])
    for folder, end in (("dashes", "-idx"), ("dots", ".idx")):
        (files / folder).mkdir()
        (files / folder / f"train-images{end}3-ubyte").write_bytes(idx(x))
        labels = files / folder / f"train-labels{end}1-ubyte.gz"
        labels.write_bytes(gzip.compress(idx(y)))
    losses = set()
    for file in ("plain.npz", "floats.npz", "keras.npz", "dashes", "dots"):
        options = ("--framework", "numpy", "--max-steps", "3", "--batch-size", "5")
        done = lockstep("train", "images-softmax", "--data.file", file, *options, "--json")
        assert done.code == 0, done.err
        losses.add(done.json["metrics"]["train_loss"])
        assert lockstep("data", "look", file, "--json").json["kind"] == "images"
    assert len(losses) == 1


def test_a_resumed_run_ends_as_an_undisturbed_one(lockstep: Command, files: Path) -> None:
    lockstep("train", *TEXT, "--framework", "numpy", "--max-steps", "9", "--out", "whole")
    lockstep("train", *TEXT, "--framework", "numpy", "--max-steps", "4", "--out", "cut")
    assert lockstep("resume", "cut", "--max-steps", "9").code == 0
    for run in ("whole", "cut"):
        assert lockstep("convert", run, "--to", "lockstep", "--out", f"{run}.safetensors").code == 0
    whole, cut = (load_file(files / f"{run}.safetensors") for run in ("whole", "cut"))
    for name, value in whole.items():
        np.testing.assert_array_equal(value, cut[name], strict=True)


def test_generate_and_convert_need_the_file_no_more(lockstep: Command, files: Path) -> None:
    lockstep("train", *TEXT, "--framework", "numpy", "--epochs", "1", "--out", "run")
    (files / "book.txt").unlink()
    done = lockstep("generate", "run", "--prefix", "the", "--num", "5")
    assert (done.code, len(done.out.rstrip("\n"))) == (0, 8)
    assert lockstep("convert", "run", "--to", "jax", "--out", "w.safetensors").code == 0


def test_a_command_without_a_file_says_which_option(mistake: Callable[..., str]) -> None:
    assert "--data.file PATH" in mistake("train", "text-gru")
