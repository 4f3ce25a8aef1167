"""What Lockstep sees in a person's own file before one trains, and the command to type next.

What cannot be trained on is told, not refused: one looks in order to find it. Nothing is computed
here but counts, ranges and a few examples.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lockstep.checks import one_of
from lockstep.data.given_file import PARQUET, ZIP, given_path, npz_arrays, read_bytes
from lockstep.data.own_images import PICTURES, as_images, read_images
from lockstep.data.own_text import read_text
from lockstep.data.table_file import (
    NO_VALUE,
    ReadTable,
    counted,
    is_number,
    read_table_file,
)
from lockstep.data.text_codes import chapter_letters, count_codes
from lockstep.errors import InputError

KINDS = ("auto", "table", "text", "images")
TABLES = (".csv", ".tsv", ".dat", ".data", ".parquet")
MOST_CLASSES = 20  # a column of more different words is free text, of whole numbers a number
BINS = 20
SHOWN = 24  # pictures
SMALLEST = 12  # pixels a side that LeNet's two poolings leave something of


@dataclass(frozen=True)
class Column:
    """One column: kind is number, class, words (too many to be classes), constant or empty."""

    name: str
    kind: str
    missing: int
    least: float | None = None
    mean: float | None = None
    greatest: float | None = None
    values: tuple[tuple[str, int], ...] = ()  # the most frequent, of classes and words
    bins: tuple[int, ...] = ()  # a histogram from least to greatest


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
    kind = one_of("as", kind, KINDS)
    kind = _kind(path, header, separator) if kind == "auto" else kind
    if kind == "images":
        return _images(path, file)
    if kind == "text":
        return _text(path, file)
    table, digest = read_table_file(str(path), header, separator)
    options = [("header", header), ("separator", separator)]
    given = [w for n, v in options if v != "auto" for w in (f"--data.{n}", v)]
    return _table(table, digest, file, given)


def _kind(path: Path, header: str, separator: str) -> str:
    if path.is_dir():
        idx = any("-idx3-ubyte" in p.name for p in path.iterdir())
        seen = idx or any(p.suffix.lower() in PICTURES for p in path.rglob("*"))
        return "images" if seen else "text"
    if "-idx3-ubyte" in path.name:
        return "images"
    name = path.name.removesuffix(".gz").lower()
    if name.endswith(TABLES) or separator != "auto" or header != "auto":
        return "table"
    content = read_bytes(path)
    if content.startswith(ZIP):
        return "images" if npz_arrays(path, content).get("x", np.empty(0)).ndim > 2 else "table"
    if content.startswith(PARQUET):
        return "table"
    try:
        table, _ = read_table_file(str(path), header, separator)
    except InputError:  # rows of different lengths: lines of a text
        return "text"
    numbers = [i for i in range(len(table.names)) if not table.has_words(i)]
    return "table" if numbers and len(table.names) > 1 else "text"


# --- tables ---------------------------------------------------------------------------------------


def _table(table: ReadTable, digest: str, file: str, given: list[str]) -> Look:
    columns = tuple(_column(table, i) for i in range(len(table.names)))
    facts = {"rows": len(table), "header": table.names != counted(len(table.names))}
    fitting = [c for c in columns if c.kind in ("number", "class")]
    remarks = [
        f"column {c.name!r} is {c.kind}: it is left out" for c in columns if c.kind == "constant"
    ]
    remarks += [f"column {c.name!r} is empty" for c in columns if c.kind == "empty"]
    if not fitting:
        return Look("table", file, digest, facts, "", columns, remarks=tuple(remarks))
    target = fitting[-1]
    without = []
    for column in columns:
        if column is target or (column.kind == "number" and not _counts_rows(column, len(table))):
            continue
        without.append(_named(column, columns))
        if column.kind in ("class", "words"):
            remarks.append(f"column {column.name!r} holds words, which are no features: left out")
        elif column.kind == "number":
            remarks.append(f"column {column.name!r} numbers the rows: it is left out")
    recipe = "table-softmax" if target.kind == "class" else "table-linear"
    words = ["lockstep", "train", recipe, "--data.file", file, *given]
    words += ["--data.target", _named(target, columns)]
    words += ["--data.without", ",".join(without)] if without else []
    if missing := sum(column.missing for column in columns):
        remarks.append(f"{missing:,} values are missing: --data.missing mean fills them instead")
        words += ["--data.missing", "drop"]
    words += _batch(int(0.8 * len(table)), 10)
    return Look("table", file, digest, facts, shlex.join(words), columns, remarks=tuple(remarks))


def _named(column: Column, columns: Sequence[Column]) -> str:
    """By name, or by number where the name would be taken for several or for an option."""
    plain = column.name and "," not in column.name and column.name[0] not in "-["
    return column.name if plain else str(columns.index(column) + 1)


def _counts_rows(column: Column, rows: int) -> bool:
    span = (column.greatest or 0) - (column.least or 0)
    return (
        rows > 2
        and not column.missing
        and column.kind == "number"
        and span == rows - 1
        and (column.name.lower() in ("id", "index", "no", "nr", "row", "unnamed: 0", "1"))
    )


def _column(table: ReadTable, index: int) -> Column:
    name, cells = table.names[index], table.columns[index]
    if table.has_words(index):
        named = [str(cell).strip() for cell in cells]
        found = Counter(name for name in named if name.lower() not in NO_VALUE)
        kind = "class" if len(found) <= max(MOST_CLASSES, len(table) // 50) else "words"
        missing = len(named) - sum(found.values())
        return Column(name, "constant" if len(found) == 1 else kind, missing, values=_most(found))
    values = _numbers(cells)
    there = values[np.isfinite(values)]
    if not len(there):
        return Column(name, "empty", len(values))
    least, greatest = float(there.min()), float(there.max())
    missing = int(np.isnan(values).sum())
    bins = tuple(np.histogram(there, BINS)[0].tolist())
    kind = "constant" if least == greatest else "number"
    infinite = int(np.isinf(values).sum())
    worth = (("infinite", infinite),) if infinite else ()
    return Column(name, kind, missing, least, float(there.mean()), greatest, worth, bins)


def _numbers(cells: Sequence[str] | NDArray[np.float64]) -> NDArray[np.float64]:
    if isinstance(cells, np.ndarray):
        return cells
    return np.array([float(cell) if is_number(cell) else np.nan for cell in cells])


def _most(found: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(found.items(), key=lambda item: (-item[1], item[0]))[:MOST_CLASSES])


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
        remarks.append("most of it, or much, is no letter a to z: all its symbols are learned")
        words += ["--data.symbols", "all"]
        trained = len(text)
    if trained < 3000:  # 32 windows of 35 need a thousand, and there is a held-out part
        remarks.append("it is short: smaller windows and batches")
        words += ["--data.window", "8", "--batch-size", "4"]
    return Look(
        "text", file, digest(), facts, shlex.join(words), counts=symbols, remarks=tuple(remarks)
    )


# --- pictures -------------------------------------------------------------------------------------


def _images(path: Path, file: str) -> Look:
    pairs, digest, _ = read_images(path)
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
    recipe, remarks = "images-lenet", []
    if min(height, width) < SMALLEST:
        recipe = "images-mlp"
        remarks.append(f"LeNet needs {SMALLEST} pixels a side")
    words = ["lockstep", "train", recipe, "--data.file", file]
    if "test" not in images:
        words += ["--data.held_out", "0.1", "--evaluate", "test"]
        remarks.append("there is no test part: a tenth is held out")
    words += _batch(int(len(x) * (1 if "test" in images else 0.9)), 256)
    few = np.linspace(0, len(x) - 1, min(SHOWN, len(x))).astype(int)
    return Look(
        "images", file, digest, facts, shlex.join(words), counts=counts, remarks=tuple(remarks),
        pictures=x[few], labels=tuple(str(label) for label in y[few].tolist()),
    )  # fmt: skip


def _order(label: str) -> tuple[bool, float, str]:
    return not is_number(label), float(label) if is_number(label) else 0.0, label
