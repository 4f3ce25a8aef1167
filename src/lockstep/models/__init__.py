"""Models written once over Ops, losses, and canonical initial weights. No framework here."""

from __future__ import annotations

from lockstep.errors import InputError
from lockstep.models.feedforward import LinearNet, MLPNet
from lockstep.models.lenet import LeNetModel
from lockstep.models.model import Model
from lockstep.models.recurrent import RecurrentNet
from lockstep.spec import GRU, MLP, RNN, LeNet, Linear, OwnModel, Softmax
from lockstep.spec.parts import ModelPart


def build(part: ModelPart, input_shape: tuple[int, ...], num_outputs: int) -> Model:
    """The model a spec names, for inputs of one example's shape: () means symbols of a text.

    >>> build(Linear(), (5,), 1)
    LinearNet(num_inputs=5, num_outputs=1)
    """
    if isinstance(part, OwnModel):
        raise InputError("model.kind", "own", "has no built-in model", "Give the model itself.")
    recurrent = isinstance(part, RNN | GRU)
    if recurrent != (input_shape == ()):
        needs, has = ("text", "no text") if recurrent else ("examples with features", "text")
        raise InputError(
            "model.kind",
            part.kind,
            f"needs {needs}, but the data is {has}",
            "Choose rnn or gru for text, another model for images and tables.",
        )
    num_inputs = 1
    for size in input_shape:
        num_inputs *= size
    match part:
        case Softmax() if num_outputs < 2:
            raise InputError(
                "model.kind", "softmax", "needs classes, but the data has none", "Use linear."
            )
        case Linear() | Softmax():
            return LinearNet(num_inputs, num_outputs)
        case MLP(hiddens):
            return MLPNet((num_inputs, *hiddens, num_outputs))
        case LeNet(pooling):
            if input_shape != (28, 28) or num_outputs != 10:
                raise InputError(
                    "model.kind", "lenet", "needs images of 28 x 28 in ten classes", "Use mlp."
                )
            return LeNetModel(pooling)
        case RNN(num_hiddens):
            return RecurrentNet(num_outputs, num_hiddens, gates=1)
        case GRU(num_hiddens, reset):
            return RecurrentNet(num_outputs, num_hiddens, gates=3, reset=reset)


__all__ = ["Model", "build"]
