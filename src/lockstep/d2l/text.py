"""The chapters' text: The Time Machine as lines, tokens, a vocabulary, and windows of it."""

from __future__ import annotations

import io
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lockstep.d2l.downloads import note_edition
from lockstep.data import read
from lockstep.errors import InputError

Pair = tuple[Any, Any]  # inputs and labels, (batch_size, num_steps) each


def read_time_machine() -> list[str]:
    """The lines of the book: lower-case letters with single spaces between words."""
    found = read("timemachine")
    note_edition(found.found)
    lines = io.StringIO(found.files[0].decode("utf-8"), newline=None)  # of any system
    return [re.sub("[^A-Za-z]+", " ", line).strip().lower() for line in lines]


def tokenize(lines: Iterable[str], token: str = "word") -> list[list[str]]:
    """The words or the characters of each line.

    >>> tokenize(["to be", ""], "word"), tokenize(["to"], "char")
    ([['to', 'be'], []], [['t', 'o']])
    """
    if token not in ("word", "char"):
        raise InputError("token", token, "is neither", "Ask for word or char.")
    return [line.split() if token == "word" else list(line) for line in lines]


def count_corpus(tokens: Sequence[Any]) -> Counter[Any]:
    """How often each token occurs in a list, or in a list of lists.

    >>> count_corpus([["a", "b"], ["a"]])["a"]
    2
    """
    if tokens and isinstance(tokens[0], list):
        tokens = [token for line in tokens for token in line]
    return Counter(tokens)


class Vocab:
    """Tokens by number: 0 is unknown, then the reserved ones, then by falling frequency.

    >>> vocab = Vocab([["b", "a"], ["a"]], reserved_tokens=["<pad>"])
    >>> vocab[["a", "b", "c"]], vocab.to_tokens([1, 2]), len(vocab)
    ([2, 3, 0], ['<pad>', 'a'], 4)
    """

    def __init__(
        self,
        tokens: Sequence[Any] | None = None,
        min_freq: int = 0,
        reserved_tokens: Sequence[str] | None = None,
    ) -> None:
        counted = count_corpus(tokens or [])
        self.token_freqs = sorted(counted.items(), key=lambda pair: pair[1], reverse=True)
        frequent = [token for token, freq in self.token_freqs if freq >= min_freq]
        names = dict.fromkeys(["<unk>", *(reserved_tokens or ()), *frequent])
        self.idx_to_token = list(names)
        self.token_to_idx = {token: place for place, token in enumerate(self.idx_to_token)}

    @property
    def unk(self) -> int:
        return 0

    def __len__(self) -> int:
        return len(self.idx_to_token)

    def __getitem__(self, tokens: Any) -> Any:
        if isinstance(tokens, list | tuple):
            return [self[token] for token in tokens]
        return self.token_to_idx.get(tokens, self.unk)

    def to_tokens(self, indices: Any) -> Any:
        if hasattr(indices, "__len__") and len(indices) > 1:
            return [self.idx_to_token[int(index)] for index in indices]
        alone = indices[0] if hasattr(indices, "__len__") else indices
        found = self.idx_to_token[int(alone)]
        return [found] if hasattr(indices, "__len__") else found


def load_corpus_time_machine(max_tokens: int = -1) -> tuple[list[int], Vocab]:
    """The characters of the book as numbers, and their vocabulary of 28 symbols."""
    tokens = tokenize(read_time_machine(), "char")
    vocab = Vocab(tokens)
    corpus = [vocab[token] for line in tokens for token in line]
    return (corpus[:max_tokens] if max_tokens > 0 else corpus), vocab


def random_windows(corpus: Sequence[int], batch_size: int, num_steps: int) -> Iterator[Pair]:
    """Windows at random places, no two of which overlap; labels are the tokens one further on."""
    tokens = np.asarray(corpus)[random.randint(0, num_steps - 1) :]
    starts = [place * num_steps for place in range((len(tokens) - 1) // num_steps)]
    random.shuffle(starts)
    for first in range(0, len(starts) - batch_size + 1, batch_size):
        places = np.array(starts[first : first + batch_size])[:, None] + np.arange(num_steps)
        yield tokens[places], tokens[places + 1]


def sequential_windows(corpus: Sequence[int], batch_size: int, num_steps: int) -> Iterator[Pair]:
    """Windows that continue those of the batch before; labels are the tokens one further on."""
    tokens = np.asarray(corpus)
    offset = random.randint(0, num_steps)
    length = (len(tokens) - offset - 1) // batch_size
    rows: NDArray[Any] = offset + length * np.arange(batch_size)[:, None]  # where each row begins
    for step in range(0, length - length % num_steps, num_steps):
        places = rows + np.arange(step, step + num_steps)
        yield tokens[places], tokens[places + 1]


def converted(pairs: Iterator[Pair], convert: Callable[[NDArray[Any]], Any]) -> Iterator[Pair]:
    """The same windows and labels as a framework's arrays."""
    return ((convert(x), convert(y)) for x, y in pairs)


def continued(prefix: str, num_preds: int, vocab: Vocab, follow: Callable[[int], int]) -> str:
    """The prefix and `num_preds` more characters: `follow` is shown each symbol in turn, and says
    which one is the likeliest to come next."""
    found = [vocab[prefix[0]]]
    known = [vocab[letter] for letter in prefix[1:]]
    for place in range(len(known) + num_preds):
        likeliest = follow(found[-1])
        found.append(known[place] if place < len(known) else likeliest)
    return "".join(vocab.idx_to_token[index] for index in found)


class TextBatches:
    """Batches of windows of the book, a new pass each time; `convert` makes a framework's array."""

    def __init__(
        self, batch_size: int, num_steps: int, use_random_iter: bool, max_tokens: int,
        convert: Callable[[NDArray[Any]], Any],
    ) -> None:  # fmt: skip
        self.corpus, self.vocab = load_corpus_time_machine(max_tokens)
        self.batch_size, self.num_steps = batch_size, num_steps
        self.data_iter_fn = random_windows if use_random_iter else sequential_windows
        self._convert = convert

    def __iter__(self) -> Iterator[Pair]:
        pairs = self.data_iter_fn(self.corpus, self.batch_size, self.num_steps)
        return converted(pairs, self._convert)
