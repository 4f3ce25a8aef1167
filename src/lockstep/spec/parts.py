"""The parts of a run description: models and optimizers as plain frozen records (data_parts.py has
those of data), and all of them by kind.

Nothing here computes: the rooms `data`, `models` and `optimizers` give these records their meaning.
A part's `kind` is its name in TOML (`[model] kind = "gru"`) and on the command line; `add` makes
another kind known. `models.add` and `optimizers.add` call it.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from functools import partial
from typing import Annotated, Any, ClassVar, Protocol

from lockstep.checks import check_fields, listed, number, one_of, store, whole
from lockstep.errors import InputError
from lockstep.extensions import Registry
from lockstep.spec.data_parts import (
    WIDEST,
    Airfoil,
    FashionMNIST,
    ImageFiles,
    OwnData,
    Recall,
    Table,
    TextFile,
    TimeMachine,
    Width,
)

RESETS = ("before", "after")
GATES = ("reset", "update")
POOLINGS = ("max", "avg")


def _widths(field: str, value: object) -> tuple[int, ...]:
    sizes = listed(field, value, "[256] or 256,128")
    return tuple(whole(field, size, most=WIDEST) for size in sizes)


class Part(Protocol):
    """A frozen record of fields with a name of its own."""

    kind: ClassVar[str]


DataPart = Part

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
