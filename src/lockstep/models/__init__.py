"""Models written once over Ops, losses, and canonical initial weights. No framework here.

A model has a record of its fields (spec/parts.py) and a function that builds it, most of them from
the descriptions in layers.py; `add` makes another one known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.errors import InputError
from lockstep.extensions import Registry
from lockstep.models import feedforward, lenet, recurrent
from lockstep.models.model import Model
from lockstep.spec import GRU, MLP, RNN, LeNet, Linear, OneGate, Softmax, parts
from lockstep.spec.parts import ModelPart

Build = Callable[[Any, tuple[int, ...], int], Model]


_FOR_EXAMPLES: Registry[Build] = Registry("model.kind")
_FOR_TEXT: Registry[Build] = Registry("model.kind")


def add(part: type[ModelPart], build: Build, *, for_text: bool = False) -> None:
    """Make a model known: its record of fields, by `kind`, and the function that builds it.

    `build(part, input_shape, num_outputs)` returns the model for examples of that shape, for
    example a `layers.Sequential`; with `for_text` the inputs are symbols, and the shape is ().
    """
    parts.add("model", part)
    (_FOR_TEXT if for_text else _FOR_EXAMPLES).add(part.kind, build)


add(Linear, feedforward.linear)
add(Softmax, feedforward.linear)
add(MLP, feedforward.mlp)
add(LeNet, lenet.build)
add(RNN, recurrent.build, for_text=True)
add(GRU, recurrent.build, for_text=True)
add(OneGate, recurrent.build, for_text=True)


def build(part: ModelPart, input_shape: tuple[int, ...], num_outputs: int) -> Model:
    """The model a spec names, for inputs of one example's shape: () means symbols of a text.

    >>> build(Linear(), (5,), 1).initial_weights(0)["w"].shape
    (5, 1)
    """
    builders, others = (_FOR_EXAMPLES, _FOR_TEXT) if input_shape else (_FOR_TEXT, _FOR_EXAMPLES)
    if part.kind in builders:
        return builders[part.kind](part, input_shape, num_outputs)
    if part.kind not in others:
        raise InputError("model.kind", part.kind, "has no built-in model", "Give the model itself.")
    needs, has = ("text", "no text") if input_shape else ("examples with features", "text")
    raise InputError(
        "model.kind",
        part.kind,
        f"needs {needs}, but the data is {has}",
        "Choose rnn, gru or one-gate for text, another model for images and tables.",
    )


__all__ = ["Model", "add", "build"]
