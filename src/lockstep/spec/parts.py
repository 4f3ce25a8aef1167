"""The parts of a run description: data, model and optimizer, as plain frozen records.

Nothing here computes: the rooms `data`, `models` and `optimizers` give these records their meaning.
A part's `kind` is its name in TOML (`[model] kind = "gru"`) and on the command line; `add` makes
another kind known. `models.add` and `optimizers.add` call it.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Protocol

from lockstep.checks import check_fields, listed, number, one_of, store, truth, whole
from lockstep.errors import InputError
from lockstep.extensions import Registry

SOURCES = ("real", "generated")
ORDERS = ("shuffled", "in_order", "with_replacement")
LOADINGS = ("at_once", "one_by_one")
SAMPLINGS = ("sequential", "random")
LOSSES = ("squared", "cross_entropy")
OWN = "own"  # a loss that is a person's own function
RESETS = ("before", "after")
GATES = ("reset", "update")
POOLINGS = ("max", "avg")
SYMBOLS = ("letters", "all")
HEADERS = ("auto", "yes", "no")
SEPARATORS = ("auto", "comma", "semicolon", "tab", "space")
TARGETS = ("auto", "number", "class")
STANDARDIZED = ("all", "features", "none")
MISSING_VALUES = ("refuse", "drop", "mean")
WIDEST = 10**6  # a layer


def _width(field: str, value: object) -> int:
    return whole(field, value, most=WIDEST)


def _widths(field: str, value: object) -> tuple[int, ...]:
    return tuple(_width(field, size) for size in listed(field, value, "[256] or 256,128"))


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
Width = Annotated[int, _width]
Limit = Annotated[int, partial(whole, least=0)]  # 0: none
Fraction = Annotated[float, partial(number, least=0.0, below=1.0)]
File = Annotated[str, _path]
Columns = Annotated[tuple[str, ...], _columns]
Given = Annotated[str, partial(one_of, known=("real",))]


class Part(Protocol):
    """A frozen record of fields with a name of its own."""

    kind: ClassVar[str]


DataPart = Part

# --- data ---------------------------------------------------------------------------------------


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


# --- models -------------------------------------------------------------------------------------


class _Model:
    def __post_init__(self) -> None:
        check_fields(self, "model")


@dataclass(frozen=True)
class Linear:
    """y = x w + b."""

    kind: ClassVar[str] = "linear"


@dataclass(frozen=True)
class Softmax:
    """Softmax regression: one linear layer on the flattened input."""

    kind: ClassVar[str] = "softmax"


@dataclass(frozen=True)
class MLP(_Model):
    """Linear layers with ReLU between them."""

    kind: ClassVar[str] = "mlp"
    hiddens: Annotated[tuple[int, ...], _widths] = (256,)


@dataclass(frozen=True)
class LeNet(_Model):
    """LeNet in the two forms of the chapters: `pooling` max (6 and 16 channels) or avg (20, 50)."""

    kind: ClassVar[str] = "lenet"
    pooling: Annotated[str, partial(one_of, known=POOLINGS)] = "max"


@dataclass(frozen=True)
class RNN(_Model):
    """A recurrent language model with tanh units."""

    kind: ClassVar[str] = "rnn"
    num_hiddens: Width = 256


@dataclass(frozen=True)
class GRU(_Model):
    """A gated recurrent language model; `reset` says where the reset gate acts."""

    kind: ClassVar[str] = "gru"
    num_hiddens: Width = 256
    reset: Annotated[str, partial(one_of, known=RESETS)] = "before"


@dataclass(frozen=True)
class OneGate(_Model):
    """A GRU in which one `gate` acts: without reset (R = 1), or without update (Z = 0)."""

    kind: ClassVar[str] = "one-gate"
    num_hiddens: Width = 256
    gate: Annotated[str, partial(one_of, known=GATES)] = "update"


@dataclass(frozen=True)
class OwnModel:
    """A person's own model; `reference` is `file.py:name`, "" where it has none.

    `structure` is a digest of what the model is, `weights` one of the arrays that a module brings.
    """

    kind: ClassVar[str] = "own"
    reference: str = ""
    structure: str = ""
    weights: str = ""


ModelPart = Part

# --- optimizers ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class OptimizerPart:
    """What every optimizer has: weight decay and clipping. 0 switches each off.

    Gradients are clipped first (by value, then by global norm), decay is added after. The checks
    below are those of fields that optimizers have in common; others are a record's own to check.
    """

    kind: ClassVar[str]
    weight_decay: float = 0.0
    clip_norm: float = 0.0
    clip_value: float = 0.0

    def __post_init__(self) -> None:
        for name in ("weight_decay", "clip_norm", "clip_value", "eps", "temperature"):
            self._keep(name)
        for name in ("momentum", "decay"):
            self._keep(name, most=1.0)
        for name in ("beta1", "beta2"):
            self._keep(name, below=1.0)  # at 1, Adam's correction divides by zero

    def _keep(self, name: str, **limits: float) -> None:
        if hasattr(self, name):
            value = number(f"optimizer.{name}", getattr(self, name), least=0.0, **limits)
            store(self, name, value)


@dataclass(frozen=True)
class SGD(OptimizerPart):
    """w <- w - lr g."""

    kind: ClassVar[str] = "sgd"


@dataclass(frozen=True)
class SGLD(OptimizerPart):
    """w <- w - lr g + sqrt(2 lr temperature) n, n standard normal: Langevin dynamics."""

    kind: ClassVar[str] = "sgld"
    temperature: float = 1e-3


@dataclass(frozen=True)
class Momentum(OptimizerPart):
    """v <- m v + g; w <- w - lr v."""

    kind: ClassVar[str] = "momentum"
    momentum: float = 0.9


@dataclass(frozen=True)
class Nesterov(OptimizerPart):
    """v <- m v + g; w <- w - lr (g + m v)."""

    kind: ClassVar[str] = "nesterov"
    momentum: float = 0.9


@dataclass(frozen=True)
class Adagrad(OptimizerPart):
    """s <- s + g^2; w <- w - lr g / (sqrt(s) + eps)."""

    kind: ClassVar[str] = "adagrad"
    eps: float = 1e-10


@dataclass(frozen=True)
class RMSprop(OptimizerPart):
    """s <- d s + (1-d) g^2; w <- w - lr g / (sqrt(s) + eps)."""

    kind: ClassVar[str] = "rmsprop"
    decay: float = 0.99
    eps: float = 1e-8


@dataclass(frozen=True)
class Adadelta(OptimizerPart):
    """s <- d s + (1-d) g^2; u = g sqrt(v+eps) / sqrt(s+eps); v <- d v + (1-d) u^2; w <- w - lr u"""

    kind: ClassVar[str] = "adadelta"
    decay: float = 0.9
    eps: float = 1e-6


@dataclass(frozen=True)
class Adam(OptimizerPart):
    """Means of g and g^2, both corrected for their start at zero."""

    kind: ClassVar[str] = "adam"
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8


@dataclass(frozen=True)
class AdamW(Adam):
    """Adam with decay applied to the weights themselves: w <- w - lr (step + weight_decay w)."""

    kind: ClassVar[str] = "adamw"
    weight_decay: float = 0.01


# --- by kind --------------------------------------------------------------------------------------

DATA: Registry[type[Any]] = Registry("data.kind")
MODELS: Registry[type[Any]] = Registry("model.kind")
OPTIMIZERS: Registry[type[Any]] = Registry("optimizer.kind")
PARTS = {"data": DATA, "model": MODELS, "optimizer": OPTIMIZERS}


def add(section: str, part: type[Any]) -> None:
    """Make a kind of data, model or optimizer known to specs, TOML files and the command line.

    `part` is a frozen dataclass with a `kind`; every field has a default, and is a number, text,
    True or False, or a tuple of them.
    """
    one_of("section", section, tuple(PARTS))
    name = getattr(part, "__name__", part)
    if not hasattr(part, "__dataclass_params__") or not part.__dataclass_params__.frozen:
        raise InputError(section, name, "is no frozen dataclass", "Use @dataclass(frozen=True).")
    for item in fields(part):
        if item.default is MISSING:
            raise InputError(f"{section}.{item.name}", name, "has no default", "Give it one.")
    PARTS[section].add(getattr(part, "kind", ""), part)


_BUILT_IN: dict[str, tuple[type[Any], ...]] = {
    "data": (Airfoil, FashionMNIST, TimeMachine, Recall, Table, TextFile, ImageFiles, OwnData),
    "model": (Linear, Softmax, MLP, LeNet, RNN, GRU, OneGate, OwnModel),
    "optimizer": (SGD, Momentum, Nesterov, Adagrad, RMSprop, Adadelta, Adam, AdamW, SGLD),
}
for _section, _parts in _BUILT_IN.items():
    for _part in _parts:
        add(_section, _part)
