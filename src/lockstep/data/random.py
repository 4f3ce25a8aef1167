"""Random numbers by seed and purpose: the only door through which chance enters a run.

Every draw names what it is for, so adding one never shifts another, and any epoch's numbers can
be had without drawing those before it. Python's `hash()` differs between processes and is not used.
"""

from __future__ import annotations

import hashlib
from functools import cache

import numpy as np

from lockstep.checks import whole

_WORD = 0xFFFFFFFF
_LARGEST = 2**63 - 1


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


@cache
def _purpose_words(purpose: str) -> tuple[int, ...]:
    digest = hashlib.sha256(purpose.encode("utf-8")).digest()
    return tuple(int.from_bytes(digest[at : at + 4], "little") for at in range(0, 16, 4))


def _words(field: str, value: int) -> list[int]:
    number = whole(field, value, least=0, most=_LARGEST)
    return [number & _WORD, number >> 32]
