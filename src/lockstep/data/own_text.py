"""A person's own text as symbols: the chapter's 28, or every character of any script.

Large texts are taken a block at a time: beside the text itself only its symbols are held.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lockstep.data.characters import LETTERS, UNKNOWN, Vocabulary, WindowBatch
from lockstep.data.data_set import DataSet, Loaded
from lockstep.data.encoding import Encoding
from lockstep.data.examples import NewExamples
from lockstep.data.given_file import (
    decoded,
    decompressed,
    digest_of,
    digest_of_all,
    given_path,
    origin_of,
    read_bytes,
    refuse,
    visible,
)
from lockstep.data.held_back import first, num_held, require_window
from lockstep.data.plans import WindowPlan
from lockstep.data.source import Progress
from lockstep.data.text_codes import (
    MOST_CODES,
    chapter_letters,
    count_bytes,
    count_codes,
    replaced,
)
from lockstep.errors import InputError
from lockstep.spec import TextFile

_T = TypeVar("_T")
TEXTS = (".txt", ".txt.gz")
# lowered, the first becomes two characters, and the second depends on what follows it
LOWERED_TOGETHER = ("\u0130", "\u03a3")


def read_text(path: Path) -> tuple[str, Callable[[], str]]:
    """The text of a UTF-8 file, or of all .txt files of a folder in order of their names; ends of
    lines become newlines. Calling the second waits for the digest, which is computed meanwhile."""
    if not path.is_dir():
        content = read_bytes(path)
        digest = _begin(digest_of, content)
        return _newlines(decoded(path, decompressed(path, content))), digest
    files = [p for p in visible(path) if p.name.lower().endswith(TEXTS)]
    if not files:
        raise refuse(path, "has no .txt files", "Give a text, or a folder of them.")
    contents = {str(p.relative_to(path)): read_bytes(p) for p in files}
    digest = _begin(digest_of_all, contents)
    texts = [decoded(p, decompressed(p, c)) for p, c in zip(files, contents.values(), strict=True)]
    return _newlines("\n".join(texts)), digest


def _begin(digest: Callable[[_T], str], content: _T) -> Callable[[], str]:
    """The digest, computed by a thread: hashing leaves the interpreter free."""
    pool = ThreadPoolExecutor(1)
    begun = pool.submit(digest, content)
    pool.shutdown(wait=False)
    return begun.result


def _newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _letters(path: Path, text: str) -> NDArray[np.uint8]:
    codes = chapter_letters(text)
    others = 0 if text.isascii() else len(text.encode()) - len(text)  # bytes: one to three for each
    if len(codes) <= others or not len(codes):
        has = "more of other scripts than" if len(codes) else "none of"
        remedy = "Say --data.symbols all for a text in another script than a to z."
        raise refuse(path, f"has {has} the letters a to z", remedy)
    return codes


def _letter_tokens(
    codes: NDArray[np.uint8], part: TextFile
) -> tuple[NDArray[np.generic], Vocabulary]:
    """Symbols (n,), and the vocabulary by counts in the training part."""
    train = codes[: _num_counted(len(codes), part)]
    counts, content = count_bytes(train), codes.tobytes()
    there = [letter for letter in LETTERS if counts[ord(letter)]]
    there.sort(key=lambda letter: (-counts[ord(letter)], content.index(letter.encode())))
    lacking = [letter for letter in LETTERS if letter not in there]
    vocabulary = Vocabulary((UNKNOWN, *there, *lacking))
    numbers = bytearray(256)
    for number, letter in enumerate(vocabulary.symbols[1:], 1):
        numbers[ord(letter)] = number
    return np.frombuffer(content.translate(numbers), np.uint8).astype(np.uint16), vocabulary


def _all_tokens(text: str, part: TextFile) -> tuple[NDArray[np.generic], Vocabulary]:
    """As `_letter_tokens`; symbols of equal count are in the order of their code points, and what
    the training part lacks is unknown."""
    lowers = not part.keep_case
    if lowers and any(symbol in text for symbol in LOWERED_TOGETHER):
        text, lowers = text.lower(), False
    num_counted = _num_counted(len(text), part)
    counts, others = count_codes(text[:num_counted]), count_codes(text[num_counted:])
    own = {code: chr(code).lower() if lowers else chr(code) for code in _codes(counts + others)}
    total: dict[str, int] = {}
    for code in _codes(counts):
        total[own[code]] = total.get(own[code], 0) + int(counts[code])
    symbols = sorted(total, key=lambda symbol: (-total[symbol], symbol))
    number = {symbol: i for i, symbol in enumerate(symbols, 1)}
    table = np.zeros(MOST_CODES, np.int32)
    for code, symbol in own.items():
        table[code] = number.get(symbol, 0)
    return replaced(text, table), Vocabulary((UNKNOWN, *symbols))


def _codes(counts: NDArray[np.int64]) -> list[int]:
    found: list[int] = np.flatnonzero(counts).tolist()
    return found


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
        tokens, vocabulary = _letter_tokens(_letters(path, text), part)
    else:
        tokens, vocabulary = _all_tokens(text, part)
    splits = {"train": {"tokens": tokens[: _num_used(len(tokens), part)]}}
    if part.held_out:
        held = tokens[_num_train(len(tokens), part) :]
        require_window("data.held_out", part.held_out, len(held), part.window)
        splits["test"] = {"tokens": held}
    encoding = Encoding((), len(vocabulary), "cross_entropy", symbols=vocabulary.symbols)
    return Loaded(splits, origin_of(path, digest()), vocabulary, encoding)


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
