"""Random numbers by seed and purpose: the only source of randomness in a run.

Every draw names what it is for, so adding one never shifts another, and the numbers of an epoch do
not depend on those before it. Python's `hash()` differs between processes and is not used.
"""

from __future__ import annotations

import hashlib
from functools import cache, lru_cache

import numpy as np

from lockstep.checks import whole

_WORD = 0xFFFFFFFF
_LARGEST = 2**63 - 1
_BLOCK = 1 << 15  # normal numbers drawn at a time: to make a generator takes as long as 2,000


def generator(seed: int, purpose: str, *numbers: int) -> np.random.Generator:
    """The generator for one purpose of one seed, and for `numbers` such as an epoch or a layer.

    PCG64 seeded by SeedSequence(seed as 2 words, sha256(purpose) as 4, each number as 2), words
    of 32 bits, lowest first; the fixed widths keep different arguments from meeting.

    >>> generator(0, "batch order", 3).permutation(5).tolist()
    [1, 4, 2, 0, 3]
    >>> generator(0, "batch order", 4).permutation(5).tolist()
    [1, 4, 2, 3, 0]
    """
    words = [*_words("seed", seed), *_purpose_words(purpose)]
    for number in numbers:
        words += _words("number", number)
    entropy = np.array(words, np.uint32)  # as a list SeedSequence takes four times as long
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))


def normal_rows(seed: int, purpose: str, width: int, first: int, count: int) -> np.ndarray:
    """Rows first, first + 1 ... of an endless table of standard normal numbers: (count, width).

    A row is the same however many are asked for: max(1, 2^15 // width) rows are drawn together, and
    block i of them by generator(seed, purpose, i).

    >>> rows = normal_rows(0, "doctest", 6, 5460, 3)
    >>> [bool((normal_rows(0, "doctest", 6, 5460 + i, 1) == rows[i]).all()) for i in range(3)]
    [True, True, True]
    """
    size = max(1, _BLOCK // max(1, width))
    parts = []
    for block in range(first // size, -(-(first + count) // size)):
        start = block * size
        parts.append(
            _normal_block(seed, purpose, width, size, block)[
                max(first - start, 0) : first + count - start
            ]
        )
    return np.concatenate(parts) if parts else np.empty((0, width))


@lru_cache(maxsize=2)  # a run may ask for one row at a time
def _normal_block(seed: int, purpose: str, width: int, size: int, block: int) -> np.ndarray:
    return generator(seed, purpose, block).standard_normal((size, width))


@cache
def _purpose_words(purpose: str) -> tuple[int, ...]:
    digest = hashlib.sha256(purpose.encode("utf-8")).digest()
    return tuple(int.from_bytes(digest[at : at + 4], "little") for at in range(0, 16, 4))


def _words(field: str, value: int) -> list[int]:
    number = whole(field, value, least=0, most=_LARGEST)
    return [number & _WORD, number >> 32]
