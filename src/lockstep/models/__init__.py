"""Models written once over Ops, losses, and canonical initial weights. No framework here.

A model has a record of its fields (spec/parts.py) and a function that builds it, most of them from
the descriptions in layers.py; `add` makes another one known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from lockstep.errors import InputError
from lockstep.models import feedforward, lenet, recurrent
from lockstep.models.model import Model
from lockstep.spec import GRU, MLP, RNN, LeNet, Linear, Softmax, parts
from lockstep.spec.parts import ModelPart

Build = Callable[[Any, tuple[int, ...], int], Model]


class _Builder(NamedTuple):
    build: Build
    for_text: bool


BUILDERS = {
    Linear.kind: _Builder(feedforward.linear, for_text=False),
    Softmax.kind: _Builder(feedforward.linear, for_text=False),
    MLP.kind: _Builder(feedforward.mlp, for_text=False),
    LeNet.kind: _Builder(lenet.build, for_text=False),
    RNN.kind: _Builder(recurrent.build, for_text=True),
    GRU.kind: _Builder(recurrent.build, for_text=True),
}


def add(part: type[ModelPart], build: Build, *, for_text: bool = False) -> None:
    """Make a model known: its record of fields, by `kind`, and the function that builds it.

    `build(part, input_shape, num_outputs)` returns the model for examples of that shape, for
    example a `layers.Sequential`; with `for_text` the inputs are symbols, and the shape is ().
    """
    if part.kind in BUILDERS and BUILDERS[part.kind].build is not build:
        problem, remedy = "is built by another function already", "Give it another kind."
        raise InputError("model.kind", part.kind, problem, remedy)
    parts.add("model", part)
    BUILDERS[part.kind] = _Builder(build, for_text)


def build(part: ModelPart, input_shape: tuple[int, ...], num_outputs: int) -> Model:
    """The model a spec names, for inputs of one example's shape: () means symbols of a text.

    >>> build(Linear(), (5,), 1).initial_weights(0)["w"].shape
    (5, 1)
    """
    if part.kind not in BUILDERS:
        raise InputError("model.kind", part.kind, "has no built-in model", "Give the model itself.")
    builder = BUILDERS[part.kind]
    if builder.for_text != (input_shape == ()):
        needs = ("text", "no text") if builder.for_text else ("examples with features", "text")
        raise InputError(
            "model.kind",
            part.kind,
            f"needs {needs[0]}, but the data is {needs[1]}",
            "Choose rnn or gru for text, another model for images and tables.",
        )
    return builder.build(part, input_shape, num_outputs)


__all__ = ["Model", "add", "build"]
