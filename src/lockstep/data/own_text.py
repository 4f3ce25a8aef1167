"""A person's own text as symbols: the chapter's 28, or every character of any script.

Large texts are taken a block at a time: beside the text itself only its symbols are held.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lockstep.data.characters import LETTERS, UNKNOWN, Vocabulary, WindowBatch
from lockstep.data.data_set import DataSet, Loaded
from lockstep.data.encoding import Encoding
from lockstep.data.examples import NewExamples
from lockstep.data.given_file import (
    decompressed,
    digest_of,
    digest_of_all,
    given_path,
    origin_of,
    read_bytes,
    refuse,
)
from lockstep.data.held_back import num_held, require_window
from lockstep.data.own_table import first
from lockstep.data.plans import WindowPlan
from lockstep.data.source import Progress
from lockstep.data.table_file import decoded
from lockstep.errors import InputError
from lockstep.spec import TextFile

BLOCK = 2**21  # characters at a time
MOST_CODES = 0x110000
_SPACE, _NEWLINE = ord(" "), ord("\n")
_KINDS = np.full(256, _SPACE, np.uint8)  # a letter lowered, an end of line, or anything else
for _letter in LETTERS[1:]:
    _KINDS[[ord(_letter), ord(_letter.upper())]] = ord(_letter)
_KINDS[[_NEWLINE, ord("\r")]] = _NEWLINE


def read_text(path: Path) -> tuple[str, str]:
    """The text of a UTF-8 file, or of all .txt files of a folder in order of their names, and the
    digest; ends of lines become newlines. The digest is computed beside the decoding."""
    if path.is_dir():
        files = sorted(p for p in path.rglob("*.txt*") if p.suffix in (".txt", ".gz"))
        if not files:
            raise refuse(path, "has no .txt files", "Give a text, or a folder of them.")
        contents = {str(p.relative_to(path)): read_bytes(p) for p in files}
        texts = [
            decoded(p, decompressed(p, c)) for p, c in zip(files, contents.values(), strict=True)
        ]
        return _newlines("\n".join(texts)), digest_of_all(contents)
    content = read_bytes(path)
    with ThreadPoolExecutor(1) as pool:  # hashing leaves the interpreter free
        digest = pool.submit(digest_of, content)
        text = _newlines(decoded(path, decompressed(path, content)))
        return text, digest.result()


def _newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def chapter_letters(text: str) -> NDArray[np.uint8]:
    r"""The chapter's preprocessing as codes (n,): what `characters.preprocess` gives, by blocks.

    A run of other characters between two letters of a line is one space; all else vanishes.

    >>> chapter_letters("The Time Machine, by H. G.\n\n Wells [1898]").tobytes().decode()
    'the time machine by h gwells'
    """
    found = [np.empty(0, np.uint8)]
    gap, ends, begun = 0, 0, False  # since the last letter: other characters, ends of lines
    for start in range(0, len(text), BLOCK):
        block = text[start : start + BLOCK].encode("ascii", "replace")
        codes = _KINDS[np.frombuffer(block, np.uint8)]
        at = np.flatnonzero(codes > _SPACE)
        if not len(at):
            gap, ends = gap + len(codes), ends + int((codes == _NEWLINE).sum())
            continue
        lines = np.cumsum(codes == _NEWLINE)
        gaps = np.diff(at, prepend=-1 - gap) - 1
        passed = np.diff(lines[at], prepend=-ends)
        spaced = (gaps > 0) & (passed == 0)
        spaced[0] &= begun
        out = np.full(len(at) + int(spaced.sum()), _SPACE, np.uint8)
        out[np.arange(len(at)) + np.cumsum(spaced)] = codes[at]
        found.append(out)
        gap, ends, begun = len(codes) - 1 - int(at[-1]), int(lines[-1] - lines[at[-1]]), True
    return np.concatenate(found)


def _letter_tokens(text: str, part: TextFile) -> tuple[NDArray[np.int32], Vocabulary]:
    """Symbols (n,), and the vocabulary by counts in the training part."""
    codes = chapter_letters(text)
    train = codes[: _num_counted(len(codes), part)]
    counts, content = np.bincount(train, minlength=256), train.tobytes()
    there = [letter for letter in LETTERS if counts[ord(letter)]]
    there.sort(key=lambda letter: (-counts[ord(letter)], content.index(letter.encode())))
    lacking = [letter for letter in LETTERS if letter not in there]
    vocabulary = Vocabulary((UNKNOWN, *there, *lacking))
    table = np.zeros(256, np.int32)
    table[[ord(letter) for letter in vocabulary.symbols[1:]]] = np.arange(1, len(vocabulary))
    return table[codes], vocabulary


def _all_tokens(text: str, part: TextFile) -> tuple[NDArray[np.int32], Vocabulary]:
    """As `_letter_tokens`; symbols of equal count are in the order of their code points, and what
    the training part lacks is unknown."""
    num_counted = _num_counted(len(text), part)
    counts = np.zeros(MOST_CODES, np.int64)
    for start in range(0, num_counted, BLOCK):
        found = np.bincount(_codes(text[start : min(start + BLOCK, num_counted)]))
        counts[: len(found)] += found
    there = np.flatnonzero(counts)
    order = there[np.argsort(-counts[there], kind="stable")]
    vocabulary = Vocabulary((UNKNOWN, *map(chr, order.tolist())))
    table = np.zeros(MOST_CODES, np.int32)
    table[order] = np.arange(1, len(vocabulary))
    tokens = np.empty(len(text), np.int32)
    for start in range(0, len(text), BLOCK):
        tokens[start : start + BLOCK] = table[_codes(text[start : start + BLOCK])]
    return tokens, vocabulary


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


def _num_train(count: int, part: TextFile) -> int:
    """How many symbols are before the held-out part."""
    return count - num_held("data.held_out", part.held_out, count, "symbols")


def _num_used(count: int, part: TextFile) -> int:
    """How many of them are used: the validation part is their end."""
    return first("data.max_tokens", part.max_tokens, _num_train(count, part))


def _num_counted(count: int, part: TextFile) -> int:
    """How many symbols settle the vocabulary."""
    if not part.validation:
        return _num_train(count, part)
    used = _num_used(count, part)
    return used - num_held("data.validation", part.validation, used, "symbols")


def _load(part: TextFile, seed: int, progress: Progress | None) -> Loaded:
    path = given_path(part.file, "a text in UTF-8, or a folder of them")
    text, digest = read_text(path)
    if part.symbols == "letters":
        tokens, vocabulary = _letter_tokens(text, part)
    else:
        text = text if part.keep_case else text.lower()
        tokens, vocabulary = _all_tokens(text, part)
    if not len(tokens):
        remedy = "Say --data.symbols all for a text in another script than a to z."
        raise refuse(path, "has none of the letters a to z", remedy)
    splits = {"train": {"tokens": tokens[: _num_used(len(tokens), part)]}}
    if part.held_out:
        held = tokens[_num_train(len(tokens), part) :]
        require_window("data.held_out", part.held_out, len(held), part.window)
        splits["test"] = {"tokens": held}
    encoding = Encoding((), len(vocabulary), "cross_entropy", symbols=vocabulary.symbols)
    return Loaded(splits, origin_of(path, digest), vocabulary, encoding)


def new_symbols(part: TextFile, encoding: Encoding, given: Any) -> NewExamples:
    """The symbols (n,) of a text, or of the file where a Path is given, read as the training part
    was; a character that the vocabulary lacks is unknown."""
    text = given
    if isinstance(given, Path):
        text = read_text(given_path(str(given), "a text in UTF-8"))[0]
    if not isinstance(text, str):
        raise InputError("x", type(text).__name__, "is no text", "Give a text, or a Path.")
    if part.symbols == "letters":
        text = chapter_letters(text).tobytes().decode()
    elif not part.keep_case:
        text = text.lower()
    index = {symbol: at for at, symbol in enumerate(encoding.symbols)}
    tokens = np.fromiter((index.get(symbol, 0) for symbol in text), np.int32, len(text))
    return NewExamples(tokens, tuple(text))


def _plan(part: TextFile, num_tokens: int, batch_size: int, seed: int) -> WindowPlan:
    return WindowPlan(num_tokens, batch_size, part.window, part.sampling, seed)


DATA_SET = DataSet(
    _load,
    input_shape=None,
    num_outputs=0,
    loss="cross_entropy",
    batch=lambda part: WindowBatch(part.window),
    plan=_plan,
    features=new_symbols,
)
