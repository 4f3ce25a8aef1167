"""Recipes: named functions that return complete RunSpecs, with the chapters' settings.

Every recipe takes any field of RunSpec by name, and `lr` for the schedule's base rate. `add` makes
another one known.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from lockstep.errors import InputError, unknown
from lockstep.extensions import Registry
from lockstep.schedules import constant, multi_factor
from lockstep.spec import (
    GRU,
    MLP,
    RNN,
    SGD,
    Adam,
    Airfoil,
    FashionMNIST,
    ImageFiles,
    LeNet,
    Linear,
    Recall,
    RunSpec,
    Softmax,
    Table,
    TextFile,
    TimeMachine,
)


def airfoil_linear(**changes: Any) -> RunSpec:
    """Linear regression on airfoil noise: 1,500 examples, batches of 10, SGD at 0.05, 2 epochs.

    >>> airfoil_linear(framework="jax").schedule(0)
    0.05
    """
    spec = RunSpec(
        name="airfoil-linear",
        data=Airfoil(),
        model=Linear(),
        optimizer=SGD(),
        schedule=constant(0.05),
        batch_size=10,
        epochs=2,
        evaluate=("train",),
    )
    return changed(spec, changes)


def fashion_lenet(**changes: Any) -> RunSpec:
    """LeNet on Fashion-MNIST: batches of 256, SGD at 0.3, 30 epochs."""
    spec = RunSpec(
        name="fashion-lenet",
        data=FashionMNIST(),
        model=LeNet(),
        optimizer=SGD(),
        schedule=constant(0.3),
        schedule_per="epoch",
        batch_size=256,
        epochs=30,
        evaluate=("test",),
    )
    return changed(spec, changes)


def fashion_softmax(**changes: Any) -> RunSpec:
    """Softmax regression on Fashion-MNIST: batches of 256, SGD at 0.1, 10 epochs."""
    spec = replace(fashion_lenet(), name="fashion-softmax", model=Softmax(), epochs=10)
    return changed(spec.with_lr(0.1), changes)


def fashion_mlp(**changes: Any) -> RunSpec:
    """An MLP with 256 hidden units on Fashion-MNIST: batches of 256, SGD at 0.1, 10 epochs."""
    spec = replace(fashion_lenet(), name="fashion-mlp", model=MLP(), epochs=10)
    return changed(spec.with_lr(0.1), changes)


def timemachine_gru(**changes: Any) -> RunSpec:
    """A GRU on The Time Machine by characters: 256 units, 32 windows of 35, SGD at 1, 500 epochs.

    The last twentieth of the epochs has a tenth of the rate: at 1 the loss jumps now and then, and
    a run may end just after. The concise style uses layers that reset after the product, so it asks
    for that form.

    >>> timemachine_gru(epochs=100).schedule.values(94, 96)
    [1.0, 0.1]
    """
    return _timemachine("timemachine-gru", GRU(reset=_reset(changes)), changes)


def timemachine_rnn(**changes: Any) -> RunSpec:
    """A tanh RNN on The Time Machine, with the GRU's settings."""
    return _timemachine("timemachine-rnn", RNN(), changes)


def _timemachine(name: str, model: GRU | RNN, changes: Mapping[str, Any]) -> RunSpec:
    spec = RunSpec(
        name=name,
        data=TimeMachine(),
        model=model,
        optimizer=SGD(clip_norm=1.0),
        schedule=constant(1.0),
        schedule_per="epoch",
        batch_size=32,
        epochs=500,
    )
    epochs = spec.with_fields({n: v for n, v in changes.items() if n == "epochs"}).epochs
    drop = multi_factor(1.0, milestones=(max(1, epochs * 19 // 20),), factor=0.1)
    return changed(replace(spec, schedule=drop), changes)


def _reset(changes: Mapping[str, Any]) -> str:
    """Where the reset gate acts in the layers of the style that is asked for."""
    return "after" if changes.get("style") == "concise" else "before"


def recall_gru(**changes: Any) -> RunSpec:
    """A GRU that must remember the first of 32 symbols: 64 units, Adam at 0.005, 3 epochs."""
    spec = RunSpec(
        name="recall-gru",
        data=Recall(),
        model=GRU(64, _reset(changes)),
        optimizer=Adam(clip_norm=1.0),
        schedule=constant(0.005),
        batch_size=64,
        epochs=3,
        evaluate=("test",),
    )
    return changed(spec, changes)


def table_linear(**changes: Any) -> RunSpec:
    """Linear regression on your own table (--data.file): batches of 10, SGD at 0.05, 10 epochs.

    A fifth of the rows is held out as the split "test".

    >>> table_linear(**{"data.target": "price"}).data.target
    'price'
    """
    return _table("table-linear", Table(target_is="number", held_out=0.2), Linear(), 0.05, changes)


def table_softmax(**changes: Any) -> RunSpec:
    """Softmax regression on the classes of your own table (--data.file): SGD at 0.1, 10 epochs."""
    return _table("table-softmax", Table(target_is="class", held_out=0.2), Softmax(), 0.1, changes)


def table_mlp(**changes: Any) -> RunSpec:
    """An MLP with 256 hidden units on your own table (--data.file): numbers, or classes by name."""
    return _table("table-mlp", Table(held_out=0.2), MLP(), 0.05, changes)


def _table(
    name: str, data: Table, model: Linear | Softmax | MLP, lr: float, changes: Mapping[str, Any]
) -> RunSpec:
    spec = replace(airfoil_linear(epochs=10), name=name, data=data, model=model, evaluate=("test",))
    return changed(spec.with_lr(lr), changes)


def text_gru(**changes: Any) -> RunSpec:
    """A GRU on your own text (--data.file): 256 units, 32 windows of 35, SGD at 1, 50 epochs.

    A tenth of the text is held out as the split "test".
    """
    return _text("text-gru", GRU(reset=_reset(changes)), changes)


def text_rnn(**changes: Any) -> RunSpec:
    """A tanh RNN on your own text (--data.file), with the GRU's settings."""
    return _text("text-rnn", RNN(), changes)


def _text(name: str, model: GRU | RNN, changes: Mapping[str, Any]) -> RunSpec:
    spec = _timemachine(name, model, {"epochs": 50, **_only(changes, "epochs")})
    return changed(replace(spec, data=TextFile(held_out=0.1), evaluate=("test",)), changes)


def _only(changes: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: changes[name] for name in names if name in changes}


def images_lenet(**changes: Any) -> RunSpec:
    """LeNet on your own images (--data.file: npz, IDX or folder): SGD at 0.3, 30 epochs.

    What is measured is the training part, unless `evaluate` says test: files may have none.
    """
    return changed(_images(fashion_lenet(), "images-lenet"), changes)


def images_softmax(**changes: Any) -> RunSpec:
    """Softmax regression on your own images (--data.file): SGD at 0.1, 10 epochs."""
    return changed(_images(fashion_softmax(), "images-softmax"), changes)


def images_mlp(**changes: Any) -> RunSpec:
    """An MLP with 256 hidden units on your own images (--data.file): SGD at 0.1, 10 epochs."""
    return changed(_images(fashion_mlp(), "images-mlp"), changes)


def _images(spec: RunSpec, name: str) -> RunSpec:
    return replace(spec, name=name, data=ImageFiles(), evaluate=("train",))


RECIPES: Registry[Callable[..., RunSpec]] = Registry("recipe")
_T = TypeVar("_T", bound=Callable[..., RunSpec])


def add(recipe: _T) -> _T:
    """Make a recipe known by its function's name, with hyphens; also as a decorator.

    It takes `**changes` and returns `changed(spec, changes)`. The first line of its docstring is
    what `lockstep recipes` says of it.
    """
    if not inspect.isfunction(recipe) or not inspect.getdoc(recipe):
        remedy = "Give a function with a docstring."
        raise InputError("recipe", recipe, "is no documented function", remedy)
    RECIPES.add(recipe.__name__.replace("_", "-"), recipe)
    return recipe


for _recipe in (airfoil_linear, fashion_lenet, fashion_softmax, fashion_mlp, timemachine_rnn):
    add(_recipe)
add(timemachine_gru)
add(recall_gru)
for _recipe in (table_linear, table_mlp, table_softmax, text_gru, text_rnn):
    add(_recipe)
for _recipe in (images_lenet, images_mlp, images_softmax):
    add(_recipe)


def get(name: str, **changes: Any) -> RunSpec:
    """The recipe of that name; an unknown name suggests the nearest.

    >>> get("airfoil-linear", batch_size=1, lr=0.005).schedule(0)
    0.005
    """
    if name not in RECIPES:
        raise unknown("recipe", name, RECIPES)
    return RECIPES[name](**changes)


def summary(name: str) -> str:
    """The first line of a recipe's description."""
    return (inspect.getdoc(RECIPES[name]) or "").splitlines()[0]


def changed(spec: RunSpec, changes: Mapping[str, Any]) -> RunSpec:
    """The spec with fields replaced by (dotted) name; `lr` is the schedule's base rate."""
    changes = dict(changes)
    lr = changes.pop("lr", None)
    known = [*RunSpec.__dataclass_fields__, "lr"]
    for name in changes:
        if name.partition(".")[0] not in known:
            raise unknown("field", name, known)
    spec = spec.with_fields(changes)
    return spec if lr is None else spec.with_lr(lr)
