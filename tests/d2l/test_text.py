"""Windows of a text: what they contain follows from what the chapter says of them."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.d2l import text

sizes = st.tuples(st.integers(1, 5), st.integers(1, 7), st.integers(0, 2**32))


@given(sizes, st.integers(60, 200))
def test_labels_are_one_further_on(size: tuple[int, int, int], length: int) -> None:
    batch_size, num_steps, seed = size
    corpus = list(range(length))  # a token is its place
    for windows in (text.random_windows, text.sequential_windows):
        random.seed(seed)
        batches = list(windows(corpus, batch_size, num_steps))
        assert batches
        for x, y in batches:
            assert x.shape == y.shape == (batch_size, num_steps)
            np.testing.assert_array_equal(y, x + 1)
            np.testing.assert_array_equal(np.diff(x, axis=1), 1)


@given(sizes)
def test_random_windows_do_not_overlap(size: tuple[int, int, int]) -> None:
    batch_size, num_steps, seed = size
    random.seed(seed)
    seen = np.concatenate(
        [x.ravel() for x, _ in text.random_windows(range(200), batch_size, num_steps)]
    )
    assert len(seen) == len(set(seen.tolist()))


@given(sizes)
def test_sequential_windows_continue(size: tuple[int, int, int]) -> None:
    batch_size, num_steps, seed = size
    random.seed(seed)
    batches = [x for x, _ in text.sequential_windows(range(200), batch_size, num_steps)]
    for before, after in itertools.pairwise(batches):
        np.testing.assert_array_equal(after[:, 0], before[:, -1] + 1)


def test_vocabulary_by_frequency() -> None:
    vocab = text.Vocab(["b", "a", "b", "c", "c", "b"], min_freq=2, reserved_tokens=["<pad>"])
    assert vocab.idx_to_token == ["<unk>", "<pad>", "b", "c"]
    assert vocab["a"] == vocab.unk == 0
    assert vocab.to_tokens(3) == "c"
    assert vocab.to_tokens([3]) == ["c"]
    assert vocab.to_tokens([2, 3]) == ["b", "c"]
    assert vocab.token_freqs[0] == ("b", 3)


def test_the_book_as_the_data_set_has_it() -> None:
    """The same text by another way: the room of data, which reads it for training."""
    from lockstep.data import find, timemachine

    if find("timemachine") is None:
        pytest.skip("the data are not on this machine")
    own = timemachine.load()
    corpus, vocab = text.load_corpus_time_machine()
    assert len(vocab) == 28
    letters = "".join(vocab.to_tokens(corpus))
    assert letters == own.vocabulary.decode(own.tokens)
