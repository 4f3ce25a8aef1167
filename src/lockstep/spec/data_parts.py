"""The data of a run description, as plain frozen records: a record for each data set.

Nothing here reads data: the room `data` gives these records their meaning.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

from lockstep.checks import check_fields, listed, number, one_of, truth, whole
from lockstep.errors import InputError

SOURCES = ("real", "generated")
ORDERS = ("shuffled", "in_order", "with_replacement")
LOADINGS = ("at_once", "one_by_one")
SAMPLINGS = ("sequential", "random")
LOSSES = ("squared", "cross_entropy")
WIDEST = 10**6  # numbers for each example: outputs of a layer, symbols
OWN = "own"  # a loss that is a person's own function
SYMBOLS = ("letters", "all")
HEADERS = ("auto", "yes", "no")
SEPARATORS = ("auto", "comma", "semicolon", "tab", "space")
TARGETS = ("auto", "number", "class")
STANDARDIZED = ("all", "features", "none")
MISSING_VALUES = ("refuse", "drop", "mean")


def _path(field: str, value: object) -> str:
    """Whole, so that a run is found again from another folder; "" where none is given."""
    if not isinstance(value, str | Path) or "\0" in str(value):
        raise InputError(field, value, "is no path", "Give the name of a file or folder as text.")
    try:
        return str(Path(value).expanduser().absolute()) if str(value) else ""
    except RuntimeError as error:  # ~name of nobody
        raise InputError(field, value, f"is no path ({error})", "Write it in full.") from error


def _column(field: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(field, value, "is no column", "Give its name, or its number from 1 on.")
    return str(value)


def _columns(field: str, value: object) -> tuple[str, ...]:
    names = tuple(_column(field, name) for name in listed(field, value, '["width", "height"]'))
    if "" in names:
        raise InputError(field, value, "has an empty name", "Give names or numbers of columns.")
    return names


def _texts(field: str, value: object) -> tuple[str, ...]:
    return tuple(str(text) for text in listed(field, value, '["mae=file.py:mae"]'))


# types of fields, with their checks
Source = Annotated[str, partial(one_of, known=SOURCES)]
Order = Annotated[str, partial(one_of, known=ORDERS)]
Loading = Annotated[str, partial(one_of, known=LOADINGS)]
Flag = Annotated[bool, truth]
Count = Annotated[int, whole]
Width = Annotated[int, partial(whole, most=WIDEST)]
Limit = Annotated[int, partial(whole, least=0)]  # 0: none
Fraction = Annotated[float, partial(number, least=0.0, below=1.0)]
File = Annotated[str, _path]
Columns = Annotated[tuple[str, ...], _columns]
Given = Annotated[str, partial(one_of, known=("real",))]


class _Data:
    def __post_init__(self) -> None:
        check_fields(self, "data")


def _added(default: Any) -> Any:
    """A field that is younger than hashes of runs: at its default it leaves them as they were."""
    return field(default=default, metadata={"added": True})


@dataclass(frozen=True)
class ExampleData(_Data):
    """What every set of examples has: the first `max_examples` of it are used, in an `order`. A
    batch is collected at once, or one example after another, as a plain data loader does. The
    fraction `validation` of these examples is not trained on: the split "validation"."""

    source: Source = "real"
    order: Order = "shuffled"
    drop_last: Flag = False
    max_examples: Count = 1
    loading: Loading = _added("at_once")
    validation: Fraction = _added(0.0)


@dataclass(frozen=True)
class Airfoil(ExampleData):
    """NASA's airfoil self-noise, whitened; a linear regression of 5 features. With `copies`, the
    data set has each of its `max_examples` so many times."""

    kind: ClassVar[str] = "airfoil"
    max_examples: Count = 1500
    copies: Count = _added(1)


@dataclass(frozen=True)
class FashionMNIST(ExampleData):
    """Images of clothing, 28 x 28, ten classes; or ten generated shapes."""

    kind: ClassVar[str] = "fashion-mnist"
    max_examples: Count = 60000


@dataclass(frozen=True)
class TimeMachine(_Data):
    """The Time Machine by characters, cut in windows of `window` steps; or generated sentences. Of
    the first `max_tokens`, the last fraction `validation` is the split of that name."""

    kind: ClassVar[str] = "timemachine"
    source: Source = "real"
    sampling: Annotated[str, partial(one_of, known=SAMPLINGS)] = "sequential"
    window: Count = 35
    max_tokens: Count = 10000
    validation: Fraction = _added(0.0)


@dataclass(frozen=True)
class Recall(_Data):
    """Generated sequences of `window` symbols: a cue, then distractors; every label is the cue."""

    kind: ClassVar[str] = "recall"
    source: Annotated[str, partial(one_of, known=("generated",))] = "generated"
    num_symbols: Width = 8
    window: Count = 32
    num_sequences: Count = 6400
    validation: Fraction = _added(0.0)


@dataclass(frozen=True)
class Table(ExampleData):
    """A table in a file: CSV, TSV, columns apart by spaces, npz or Parquet, gzipped or not.

    Columns go by name or number (from 1 on, -1 is the last). `target` is what is learned ("" the
    last column), the features are `columns` (() all others) but those `without`. Figures for
    `standardize` are those of the training part: all rows but the `held_out` fraction, which is
    the split "test", and `validation`. The first `max_examples` not held out are used; 0 means all.
    """

    kind: ClassVar[str] = "table"
    source: Given = "real"
    max_examples: Limit = 0
    file: File = ""
    target: Annotated[str, _column] = ""
    columns: Columns = ()
    without: Columns = ()
    header: Annotated[str, partial(one_of, known=HEADERS)] = "auto"
    separator: Annotated[str, partial(one_of, known=SEPARATORS)] = "auto"
    target_is: Annotated[str, partial(one_of, known=TARGETS)] = "auto"
    standardize: Annotated[str, partial(one_of, known=STANDARDIZED)] = "all"
    missing: Annotated[str, partial(one_of, known=MISSING_VALUES)] = "refuse"
    held_out: Fraction = 0.0


@dataclass(frozen=True)
class TextFile(_Data):
    """A text in a UTF-8 file, or a folder of them, by characters, in windows of `window` steps.

    `symbols` are the chapter's (26 letters, a space, unknown), or all characters of the text;
    capitals are lowered unless `keep_case`. The last `held_out` fraction is the split "test"; the
    first `max_tokens` of the rest are used, 0 means all; of these the last fraction `validation`
    is the split of that name.
    """

    kind: ClassVar[str] = "text"
    source: Given = "real"
    sampling: Annotated[str, partial(one_of, known=SAMPLINGS)] = "sequential"
    window: Count = 35
    max_tokens: Limit = 0
    file: File = ""
    symbols: Annotated[str, partial(one_of, known=SYMBOLS)] = "letters"
    keep_case: Flag = False
    held_out: Fraction = 0.0
    validation: Fraction = _added(0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.keep_case and self.symbols == "letters":
            problem = "the symbols `letters` are lower-case, as in the chapter"
            raise InputError("data.keep_case", True, problem, "Add --data.symbols all.")


@dataclass(frozen=True)
class ImageFiles(ExampleData):
    """Pictures and their classes: an npz (x, y), the IDX files of MNIST, or a folder of pictures by
    class. The `held_out` fraction is the split "test" where the files have none of their own."""

    kind: ClassVar[str] = "images"
    source: Given = "real"
    max_examples: Limit = 0
    file: File = ""
    held_out: Fraction = 0.0


@dataclass(frozen=True)
class OwnData(_Data):
    """A person's own arrays; `digest` is theirs, so that another data set is another run.

    `functions` says where own losses and metrics are found: loss=file.py:name, mae=file.py:name.
    """

    kind: ClassVar[str] = "own"
    digest: str = ""
    loss: Annotated[str, partial(one_of, known=(*LOSSES, OWN))] = "squared"
    order: Order = "shuffled"
    drop_last: Flag = False
    functions: Annotated[tuple[str, ...], _texts] = _added(())
    validation: Fraction = _added(0.0)
