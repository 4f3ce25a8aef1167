"""Text: the chapters' corpus by an independent count, and the vocabulary by brute force."""

from __future__ import annotations

import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.data import characters, timemachine
from lockstep.data.examples import origin_generated
from lockstep.errors import InputError

ORIGIN = origin_generated("test", 0)


def slow_preprocess(raw: str) -> str:
    """The chapters' rule letter by letter, without regular expressions."""
    joined = ""
    for line in raw.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        words = "".join(c if c in string.ascii_letters else " " for c in line).split()
        joined += " ".join(words).lower()
    return joined


@given(st.text(st.sampled_from("abzAZ 019.,'\n\r\t\f\x0b\u2028\xe9\u2019"), max_size=80))
def test_preprocessing_by_the_slow_rule(raw):
    assert characters.preprocess(raw) == slow_preprocess(raw)


@given(st.text(st.sampled_from(characters.LETTERS), max_size=60))
def test_vocabulary_by_brute_force(letters):
    symbols = characters.build_vocabulary(letters).symbols
    assert symbols[0] == "<unk>"
    assert sorted(symbols[1:]) == sorted(" " + string.ascii_lowercase)

    def rank(letter: str) -> tuple:
        at = letters.find(letter)
        return (-letters.count(letter), at if at >= 0 else len(letters), letter)

    assert list(symbols[1:]) == sorted(symbols[1:], key=rank)


@given(st.text(st.sampled_from(characters.LETTERS), max_size=60))
def test_decode_undoes_encode(letters):
    vocabulary = characters.build_vocabulary("the time traveller")
    tokens = vocabulary.encode(letters)
    assert tokens.dtype == np.int32
    assert vocabulary.decode(tokens) == letters


@pytest.mark.parametrize(("prefix", "named"), [("Time", "'T'"), ("year 1898", "'1', '8', '9'")])
def test_foreign_letters_are_named_and_not_corrected(prefix, named):
    vocabulary = characters.build_vocabulary("abc")
    with pytest.raises(InputError) as failure:
        vocabulary.encode(prefix)
    assert f"prefix = '{prefix}': has {named}, which" in str(failure.value)
    assert "lower-case letters and spaces" in str(failure.value)


def test_the_cut_applies_to_the_corpus_and_not_to_the_vocabulary():
    made = characters.make_text("abc\nzzzz", ORIGIN, max_tokens=3)
    assert made.vocabulary.symbols[1] == "z"
    assert made.vocabulary.decode(made.tokens) == "abc"
    with pytest.raises(InputError, match=r"data\.max_tokens"):
        characters.make_text("abc", ORIGIN, max_tokens=0)


def test_the_chapters_corpus(chapter_data):
    path = chapter_data("timemachine.txt")
    loaded = timemachine.load(remote=False)
    assert loaded.origin.edition == "d2l"
    # the chapters print 170580 tokens and 28 symbols, and these first ones
    assert (len(loaded.tokens), len(loaded.vocabulary)) == (170580, 28)
    assert loaded.vocabulary.symbols[:5] == ("<unk>", " ", "e", "t", "a")
    assert loaded.tokens[:10].tolist() == [3, 9, 2, 1, 3, 5, 13, 2, 1, 13]
    assert loaded.vocabulary.decode(loaded.tokens) == slow_preprocess(path.read_text("utf-8"))


def test_generated_text_is_deterministic_and_in_the_vocabulary():
    made, again, other = (
        timemachine.generate(),
        timemachine.generate(),
        timemachine.generate(seed=1),
    )
    assert len(made.tokens) >= 60_000
    assert len(made.vocabulary) == 28
    assert made.origin.generated
    np.testing.assert_array_equal(made.tokens, again.tokens)
    assert made.origin.digest == again.origin.digest != other.origin.digest
    letters = made.vocabulary.decode(made.tokens)
    assert set(letters) <= set(characters.LETTERS)
    assert "  " not in letters
    assert "time traveller" in letters
    # the grammar has well under 100 words; a text that is noise would have thousands
    assert len(set(letters.split())) < 100
