"""Texts in scripts other than the chapter's: trained on, measured and continued, by commands."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from .conftest import Command

# who, where, does what: every sentence of the grammar is one of each, in an order that repeats
GRAMMARS = {
    "Chinese": (("小猫", "老狗", "孩子"), ("在家", "在山上"), ("睡觉。", "吃饭。")),
    "Japanese": (("ねこは", "犬は", "子どもは"), ("家で", "山で"), ("ねむる。", "たべる。")),
    "Indonesian": (
        ("Kucing ", "Anjing ", "Anak "),
        ("di rumah ", "di gunung "),
        ("tidur. ", "makan. "),
    ),
}
PREFIX = {"Chinese": "小猫在", "Japanese": "ねこは", "Indonesian": "Kucing di "}
REPEATS = 9


@pytest.mark.parametrize("language", GRAMMARS)
def test_a_text_in_any_script_is_learned_and_continued(
    lockstep: Command, folder: Path, language: str
) -> None:
    grammar = GRAMMARS[language]
    sentences = ["".join(words) for words in itertools.product(*grammar)]
    (folder / "book.txt").write_text("".join(sentences) * REPEATS)
    done = lockstep(
        "train", "text-gru", "--data.file", "book.txt", "--data.symbols", "all",
        "--data.keep_case", "yes", "--data.window", "6", "--batch-size", "8",
        "--model.num_hiddens", "24", "--optimizer", "adam", "--schedule", "0.02",
        "--epochs", "20", "--framework", "numpy", "--precision", "float64", "--out", "run",
        "--json", "--quiet",
    )  # fmt: skip
    assert done.code == 0, done.err
    symbols = set("".join(sentences))
    metrics = done.json["metrics"]
    assert metrics["test_perplexity"] < 2 < len(symbols)  # of the held-out tenth
    prefix = PREFIX[language]
    text = lockstep("generate", "run", "--prefix", prefix, "--num", "40").out.rstrip("\n")
    assert text.startswith(prefix)
    assert len(text) == len(prefix) + 40
    words = set(itertools.chain(*grammar))
    assert _begins_as(text, words), text
    own = lockstep("generate", "run", "--num", "5")  # it knows where to begin by itself
    assert own.code == 0
    assert set(own.out.rstrip("\n")) <= symbols


def _begins_as(text: str, words: set[str]) -> bool:
    """Whether the text is words of the grammar, the last one perhaps cut off."""
    while text:
        fits = [word for word in words if text.startswith(word)]
        if not fits:
            return any(word.startswith(text) for word in words)
        text = text[len(fits[0]) :]
    return True


def test_what_the_vocabulary_lacks_is_named_in_its_script(lockstep: Command, folder: Path) -> None:
    train = ("train", "text-rnn", "--data.file", "book.txt", "--framework", "numpy", "--quiet")
    small = ("--data.window", "5", "--batch-size", "4", "--model.num_hiddens", "8", "--epochs", "1")
    for more in ("", "and it sleeps"):
        (folder / "book.txt").write_text("小猫在家睡觉。" * 40 + more)
        refused = lockstep(*train, *small)
        assert refused.code == 2
        assert "Say --data.symbols all" in refused.err
    assert lockstep(*train, *small, "--data.symbols", "all", "--out", "run").code == 0
    wrong = lockstep("generate", "run", "--prefix", "小鸟")
    assert wrong.code == 2
    assert "has '鸟'" in wrong.err
    assert "characters of its text" in wrong.err
