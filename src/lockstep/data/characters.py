"""Text by characters: the chapters' preprocessing, a vocabulary of 28 symbols, and batches of
windows. Pure: strings in, arrays out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lockstep.checks import whole
from lockstep.data.examples import Origin
from lockstep.errors import InputError
from lockstep.ops import Array, Ops, Weights

UNKNOWN = "<unk>"
LETTERS = " abcdefghijklmnopqrstuvwxyz"
VOCABULARY_SIZE = 1 + len(LETTERS)


@dataclass(frozen=True)
class Vocabulary:
    """Symbols by index: 0 is `<unk>`, then by falling frequency.

    >>> vocabulary = build_vocabulary("a tea")
    >>> vocabulary.encode("tea").tolist(), vocabulary.decode([3, 4, 1])
    ([3, 4, 1], 'tea')
    """

    symbols: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.symbols)

    def encode(self, text: str, field: str = "prefix") -> NDArray[np.int32]:
        """The index of each letter, int32 (len(text),); InputError names letters it lacks.

        >>> build_vocabulary("a tea").encode("Tea 4")
        Traceback (most recent call last):
            ...
        lockstep.errors.InputError: prefix = 'Tea 4': has '4', 'T', which the vocabulary lacks. \
Write it in lower-case letters and spaces.
        """
        index = {symbol: at for at, symbol in enumerate(self.symbols)}
        foreign = sorted(set(text) - index.keys())
        if foreign:
            shown = text if len(text) <= 60 else f"{text[:57]}..."
            problem = f"has {', '.join(map(repr, foreign))}, which the vocabulary lacks"
            letters = set(self.symbols) <= {UNKNOWN, *LETTERS}
            remedy = "lower-case letters and spaces" if letters else "characters of its text"
            raise InputError(field, shown, problem, f"Write it in {remedy}.")
        return np.fromiter((index[letter] for letter in text), np.int32, len(text))

    def decode(self, indices: Iterable[int]) -> str:
        """The symbols of `indices`, joined.

        >>> build_vocabulary("a tea").decode(np.array([3, 4, 1, 0]))
        'tea<unk>'
        """
        return "".join(self.symbols[index] for index in indices)


@dataclass(frozen=True, eq=False)
class Text:
    """A corpus: `tokens` int32 (num_tokens,), their vocabulary, and where the text came from."""

    tokens: NDArray[np.int32]
    vocabulary: Vocabulary
    origin: Origin


def preprocess(raw: str) -> str:
    r"""Keep letters: in each line a run of anything else becomes one space, ends are stripped,
    the rest is lowered. Lines are joined with nothing between them; blank ones vanish.

    >>> preprocess("The Time Machine, by H. G. Wells [1898]\n\n\nI\n")
    'the time machine by h g wellsi'
    """
    lines = re.split(r"\r\n|\r|\n", raw)
    return "".join(re.sub("[^A-Za-z]+", " ", line).strip().lower() for line in lines)


def build_vocabulary(text: str) -> Vocabulary:
    """`<unk>`, then the letters of `text` by falling count (ties: which came first), then those
    of the 26 letters and the space that it lacks, in alphabetical order: always 28.

    >>> build_vocabulary("abba c").symbols[:6]
    ('<unk>', 'a', 'b', ' ', 'c', 'd')
    """
    counted = [letter for letter, _ in Counter(text).most_common()]
    lacking = [letter for letter in LETTERS if letter not in counted]
    return Vocabulary((UNKNOWN, *counted, *lacking))


def make_text(raw: str, origin: Origin, max_tokens: int | None = None) -> Text:
    """Preprocess, count the vocabulary over the whole text, and keep the first `max_tokens`.

    >>> from lockstep.data.examples import origin_generated
    >>> text = make_text("To be,\\nor not", origin_generated("line", 0), max_tokens=4)
    >>> text.vocabulary.decode(text.tokens), len(text.vocabulary)
    ('to b', 28)
    """
    if max_tokens is not None:
        whole("data.max_tokens", max_tokens)
    letters = preprocess(raw)
    vocabulary = build_vocabulary(letters)
    return Text(vocabulary.encode(letters[:max_tokens], "text"), vocabulary, origin)


@dataclass(frozen=True)
class WindowBatch:
    """Windows of a text, time first: x (T, B) and y one symbol later."""

    num_steps: int

    def __call__(self, ops: Ops, data: Weights, rows: Array) -> tuple[Array, Array]:
        offsets = ops.asarray(np.arange(self.num_steps, dtype=np.int32).reshape(-1, 1))
        index = offsets + ops.reshape(rows, (1, rows.shape[0]))  # (T, B)
        return ops.take(data["tokens"], index), ops.take(data["tokens"], index + 1)
