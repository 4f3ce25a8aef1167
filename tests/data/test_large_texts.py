"""Texts as symbols, by blocks: what a plain reading of the whole gives."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep.data import own_text, text_codes
from lockstep.data.characters import UNKNOWN, preprocess
from lockstep.spec import TextFile

# few characters, so that every kind of neighbours is met: ends of lines, scripts, lowering
CHARACTERS = "abAB  \n\r.é我İΣσ\U0001f600"
TEXTS = st.text(st.sampled_from(CHARACTERS), min_size=1, max_size=60)


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    before, text_codes.BLOCK = text_codes.BLOCK, 4
    yield
    text_codes.BLOCK = before


@given(TEXTS)
def test_letters_are_the_chapters(text: str) -> None:
    assert text_codes.chapter_letters(text).tobytes().decode() == preprocess(text)


@settings(max_examples=50)
@given(TEXTS, st.sampled_from([0.0, 0.4]), st.booleans())
def test_all_symbols_stand_for_the_text(text: str, held_out: float, keep_case: bool) -> None:
    part = TextFile(symbols="all", held_out=held_out, keep_case=keep_case, window=1)
    wanted = text if keep_case else text.lower()
    held = round(len(wanted) * held_out)
    if held_out and not 0 < held < len(wanted):
        return
    tokens, vocabulary = own_text._all_tokens(text, part)
    train = wanted[: len(wanted) - held]
    counts = Counter(train)
    symbols = sorted(counts, key=lambda symbol: (-counts[symbol], symbol))
    assert vocabulary.symbols == (UNKNOWN, *symbols)
    expected = [symbol if symbol in counts else UNKNOWN for symbol in wanted]
    assert vocabulary.decode(tokens.tolist()) == "".join(expected)


@given(st.lists(st.integers(0, 255), max_size=40))
def test_bytes_are_counted(values: list[int]) -> None:
    found = text_codes.count_bytes(np.array(values, np.uint8))
    assert found.tolist() == np.bincount(values, minlength=256).tolist()


def test_more_symbols_than_two_bytes_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every character of two planes, and one of the first twice."""
    monkeypatch.setattr(text_codes, "BLOCK", 2**18)
    text = "".join(map(chr, range(0x20000, 0x31000))) + "aa"
    (tmp_path / "signs.txt").write_text(text)
    part = TextFile(file=str(tmp_path / "signs.txt"), symbols="all")
    loaded = own_text.DATA_SET.load(part, 0, None)
    tokens, vocabulary = loaded.splits["train"]["tokens"], loaded.vocabulary
    assert vocabulary is not None
    assert (tokens.dtype, tokens[-1], len(vocabulary)) == (np.int32, 1, 0x11002)
    assert vocabulary.decode(tokens[-5:].tolist()) == text[-5:]
