"""Large texts as numbers: a block at a time, so that beside a text only its result is held. Blocks
are small enough for a processor's cache, and several threads take them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lockstep.data.characters import LETTERS

BLOCK = 2**18  # characters
MOST_CODES = 0x110000
THREADS = 4  # more would wait for the interpreter
_SPACE, _NEWLINE = ord(" "), ord("\n")
_KINDS = bytearray(b" " * 256)  # a letter lowered, an end of line, or anything else
for _letter in LETTERS[1:]:
    _KINDS[ord(_letter)] = _KINDS[ord(_letter.upper())] = ord(_letter)
_KINDS[_NEWLINE] = _KINDS[ord("\r")] = _NEWLINE
_T = TypeVar("_T")


def chapter_letters(text: str) -> NDArray[np.uint8]:
    r"""The chapter's preprocessing as codes (n,): what `characters.preprocess` gives.

    A run of other characters between two letters of a line is one space; all else vanishes.

    >>> chapter_letters("The Time Machine, by H. G.\n\n Wells [1898]").tobytes().decode()
    'the time machine by h gwells'
    """
    found = _each(_letters_of_lines, _whole_lines(text.encode("utf-8", "replace")))
    return np.concatenate([np.empty(0, np.uint8), *found])


def _whole_lines(content: bytes) -> Iterable[bytes]:
    """Blocks that end where a line does: what is kept of a line depends on that line alone."""
    start = 0
    while start < len(content):
        end = content.find(b"\n", start + BLOCK) + 1 or len(content)
        yield content[start:end]
        start = end


def _letters_of_lines(block: bytes) -> NDArray[np.uint8]:
    codes = np.frombuffer(block.translate(bytes(_KINDS)), np.uint8)
    letters = codes > _SPACE
    wanted = letters | (codes == _NEWLINE)
    wanted[1:] |= letters[:-1]  # of other characters, those behind a letter
    kept = codes[wanted]
    dropped = kept == _NEWLINE
    dropped[:-1] |= dropped[1:] & (kept[:-1] == _SPACE)  # at the end of a line
    found = kept[~dropped]
    return found[:-1] if len(found) and found[-1] == _SPACE else found


def count_codes(text: str) -> NDArray[np.int64]:
    """How often each code point is there, (0x110000,).

    >>> count_codes("abba")[ord("a") : ord("d")].tolist()
    [2, 2, 0]
    """
    counts = np.zeros(MOST_CODES, np.int64)
    for found in _each(_count, _blocks(text)):
        counts[: len(found)] += found
    return counts


def count_bytes(codes: NDArray[np.uint8]) -> NDArray[np.int64]:
    """How often each byte is there, (256,); two are counted at a time.

    >>> count_bytes(np.frombuffer(b"abbac", np.uint8))[97:100].tolist()
    [2, 2, 1]
    """
    counts = np.zeros((256, 256), np.int64)
    pairs = codes[: len(codes) // 2 * 2].view(np.uint16)
    for start in range(0, len(pairs), BLOCK):
        part = pairs[start : start + BLOCK]
        counts += np.bincount(part, minlength=65536).reshape(256, 256)
    found: NDArray[np.int64] = counts.sum(axis=0) + counts.sum(axis=1)
    if len(codes) % 2:
        found[codes[-1]] += 1
    return found


def replaced(text: str, table: NDArray[np.int32]) -> NDArray[np.generic]:
    """table[code point] of every character, (n,), in two bytes where they suffice."""
    wide: type[np.generic] = np.uint16 if table.max() < 2**16 else np.int32
    small = table[:256].astype(np.uint8).tobytes() if table[:128].max() < 256 else b""
    out = np.empty(len(text), wide)
    fitting: Any = table.astype(wide)

    def replace(place: tuple[int, str]) -> None:
        start, part = place
        here = out[start : start + len(part)]
        if small and part.isascii():  # faster than NumPy's
            here[:] = np.frombuffer(part.encode("ascii").translate(small), np.uint8)
        else:
            fitting.take(_codes(part), out=here, mode="clip")

    starts = range(0, len(text), BLOCK)
    _each(replace, zip(starts, _blocks(text), strict=True))
    return out


def _blocks(text: str) -> Iterable[str]:
    return (text[start : start + BLOCK] for start in range(0, len(text), BLOCK))


def _codes(part: str) -> NDArray[np.generic]:
    """Code points in as few bytes as they need."""
    if part.isascii():
        return np.frombuffer(part.encode("ascii"), np.uint8)
    two = part.encode("utf-16-le")
    if len(two) == 2 * len(part):
        return np.frombuffer(two, np.uint16)
    return np.frombuffer(part.encode("utf-32-le"), np.uint32)


def _count(part: str) -> NDArray[np.int64]:
    codes = _codes(part)
    return count_bytes(codes) if codes.dtype == np.uint8 else np.bincount(codes)  # type: ignore[arg-type]


def _each(function: Callable[..., _T], parts: Iterable[object]) -> list[_T]:
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(function, parts))
