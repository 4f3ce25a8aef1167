"""What Lockstep sees in a person's own file before one trains, and the command to type next.

What cannot be trained on is told, not refused: one looks in order to find it. Nothing is computed
here but counts, ranges and a few examples.
"""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lockstep.checks import one_of
from lockstep.data.given_file import (
    PARQUET,
    ZIP,
    digest_of,
    given_path,
    npz_arrays,
    read_bytes,
    refuse,
    visible,
)
from lockstep.data.own_images import IDX, as_images, named_classes, read_images
from lockstep.data.own_pictures import is_picture
from lockstep.data.own_table_look import Column, look_at
from lockstep.data.own_text import TEXTS, read_text
from lockstep.data.table_file import ReadTable, counted, is_number, read_table, read_table_file
from lockstep.data.text_codes import chapter_letters, count_codes
from lockstep.errors import InputError, several
from lockstep.spec.data_parts import HEADERS, SEPARATORS

KINDS = ("auto", "table", "text", "images")
TABLES = (".csv", ".tsv", ".dat", ".data", ".parquet")
SHOWN = 24  # pictures
LEAST_TEXT = 100  # symbols: the held-out tenth has a window of 8
LEAST_PICTURES = 6  # a tenth is held out
SMALLEST = 12  # pixels a side that LeNet's two poolings leave something of


@dataclass(frozen=True)
class Look:
    """What a file holds. `counts` are those of symbols or classes, `command` is what trains on it,
    `remarks` are what to know before."""

    kind: str
    path: str
    digest: str
    facts: dict[str, Any]
    command: str
    columns: tuple[Column, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    remarks: tuple[str, ...] = ()
    pictures: NDArray[np.generic] | None = field(default=None, compare=False)
    labels: tuple[str, ...] = ()  # of the pictures

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a program to read."""
        return {
            "kind": self.kind,
            "path": self.path,
            "digest": self.digest,
            **self.facts,
            "columns": [vars(column) for column in self.columns],
            "counts": dict(self.counts),
            "remarks": list(self.remarks),
            "command": self.command,
        }


def look(file: str, header: str = "auto", separator: str = "auto", kind: str = "auto") -> Look:
    """What is in a file or folder, taken for a table, a text or pictures as it seems, or as `kind`
    says."""
    path = given_path(file, "a table, a text, or pictures")
    one_of("data.header", header, HEADERS)
    one_of("data.separator", separator, SEPARATORS)
    kind = one_of("as", kind, KINDS)
    read: tuple[ReadTable, str] | None = None
    if kind == "auto":
        kind, read = _seen(path, header, separator)
    if kind == "images":
        return _images(path, file)
    if kind == "text":
        return _text(path, file)
    table, digest = read or read_table_file(str(path), header, separator)
    options = [("header", header), ("separator", separator)]
    given = [w for n, v in options if v != "auto" for w in (f"--data.{n}", v)]
    return _table(table, digest, file, given)


def _seen(path: Path, header: str, separator: str) -> tuple[str, tuple[ReadTable, str] | None]:
    """The kind, and the table with its digest where it took reading one to tell."""
    if path.is_dir():
        if any(IDX.fullmatch(p.name) or is_picture(p) for p in visible(path)):
            return "images", None
        if any(p.name.lower().endswith(TEXTS) for p in visible(path)):
            return "text", None
        raise refuse(path, "has neither pictures nor .txt files", "Give a file, or another folder.")
    if IDX.fullmatch(path.name):
        return "images", None
    name = path.name.removesuffix(".gz").lower()
    if name.endswith(TABLES) or separator != "auto" or header != "auto":
        return "table", None
    content = read_bytes(path)
    if content.startswith(ZIP):
        deep = any(array.ndim > 2 for array in npz_arrays(path, content).values())
        return "images" if deep else "table", None
    if content.startswith(PARQUET):
        return "table", None
    try:
        table = read_table(path, content, header, separator)
    except InputError:  # rows of different lengths: lines of a text
        return "text", None
    if len(table.names) > 1 and not all(map(table.has_words, range(len(table.names)))):
        return "table", (table, digest_of(content))
    return "text", None


# --- tables ---------------------------------------------------------------------------------------


def _table(table: ReadTable, digest: str, file: str, given: list[str]) -> Look:
    columns, remarks, words, used = look_at(table)
    facts = {"rows": len(table), "header": table.names != counted(len(table.names))}
    command = ""
    if words:
        options = ["--data.file", file, *given, *words[1:], *_batch(int(0.8 * used), 10)]
        command = shlex.join(["lockstep", "train", words[0], *options])
    return Look("table", file, digest, facts, command, columns, remarks=tuple(remarks))


def _batch(there: int, usual: int) -> list[str]:
    """An option where the recipe's batch is larger than what there is to train on."""
    return [] if there >= usual else ["--batch-size", str(max(1, there // 4))]


# --- texts ----------------------------------------------------------------------------------------


def _text(path: Path, file: str) -> Look:
    text, digest = read_text(path)
    counts = count_codes(text)
    there = np.flatnonzero(counts)
    order = there[np.argsort(-counts[there], kind="stable")]
    symbols = tuple((chr(code), int(counts[code])) for code in order.tolist())
    letters = len(chapter_letters(text))
    facts = {
        "characters": len(text),
        "lines": text.count("\n") + (not text.endswith("\n")),
        "symbols": len(symbols),
        "letters a to z and spaces": letters,
    }
    remarks = []
    words = ["lockstep", "train", "text-gru", "--data.file", file]
    trained = letters
    if letters < 0.7 * len(text):
        remarks.append("much of it is no letter a to z: all its symbols are learned")
        words += ["--data.symbols", "all"]
        trained = len(text)
    if trained < LEAST_TEXT:
        remarks.append(f"it is too short to train on: {LEAST_TEXT} symbols at least")
        words = []
    elif trained < 3000:  # 32 windows of 35 need a thousand, and there is a held-out part
        remarks.append("it is short: smaller windows and batches")
        words += ["--data.window", "8", "--batch-size", "4"]
    return Look(
        "text", file, digest(), facts, shlex.join(words), counts=symbols, remarks=tuple(remarks)
    )


# --- pictures -------------------------------------------------------------------------------------


def _images(path: Path, file: str) -> Look:
    read = read_images(path)
    pairs = read.pairs
    images = {split: as_images(path, x) for split, (x, _) in pairs.items()}
    x, y = images["train"], pairs["train"][1]
    colour, (height, width) = x.ndim == 4, x.shape[-2:]
    facts: dict[str, Any] = {f"{split} pictures": len(part) for split, part in images.items()}
    facts |= {
        "width": width,
        "height": height,
        "colour": colour,
        "values": f"{x.dtype.name}, {x.min():g} to {x.max():g}",
    }
    found = Counter(str(label) for _, labels in pairs.values() for label in labels.tolist())
    counts = tuple(sorted(found.items(), key=lambda item: _order(item[0])))
    facts["classes"] = len(counts)
    words, remarks = _training_on(file, images, "test" in images)
    if alone := {label for label, _ in counts} - set(map(str, y.tolist())):
        remarks.append(f"classes of the test part alone: {', '.join(sorted(alone, key=_order))}")
    unread = Counter(file.relative_to(path).parts[0] for file in read.unread)
    for name, count in sorted(unread.items()):
        remarks.append(
            f"{name!r} is not read ({several(count, 'picture')}): only train/ and test/ are"
        )
    try:
        named_classes(path, images, read)
    except InputError as error:
        remarks.append(f"it cannot be trained on: it {error.problem}. {error.remedy}")
        words = []
    few = np.linspace(0, len(x) - 1, min(SHOWN, len(x))).astype(int)
    return Look(
        "images", file, read.digest, facts, shlex.join(words), counts=counts,
        remarks=tuple(remarks), pictures=x[few], labels=tuple(map(str, y[few].tolist())),
    )  # fmt: skip


def _training_on(
    file: str, images: dict[str, NDArray[np.generic]], has_test: bool
) -> tuple[list[str], list[str]]:
    """The words of a command that trains on pictures, none where they are too few, and remarks."""
    x, recipe, remarks = images["train"], "images-lenet", []
    if min(x.shape[-2:]) < SMALLEST:
        recipe = "images-mlp"
        remarks.append(f"LeNet needs {SMALLEST} pixels a side")
    words = ["lockstep", "train", recipe, "--data.file", file]
    if not has_test and len(x) < LEAST_PICTURES:
        return [], [*remarks, f"they are too few to train on: {LEAST_PICTURES} at least"]
    if not has_test:
        words += ["--data.held_out", "0.1", "--evaluate", "test"]
        remarks.append("there is no test part: a tenth is held out")
    return [*words, *_batch(int(len(x) * (1 if has_test else 0.9)), 256)], remarks


def _order(label: str) -> tuple[bool, float, str]:
    return not is_number(label), float(label) if is_number(label) else 0.0, label
