"""Between canonical arrays and the state_dict of the layers in concise.py. Imports no paddle.

Paddle keeps linear weights as (in, out) like ours, but a recurrent layer's as (out, in), with a
GRU's gates in the order r, z, c, and saves them under two names: its own and its cell's.
"""

from __future__ import annotations

import numpy as np

from lockstep.errors import InputError
from lockstep.frameworks.layout import Convert, Entry, Layout, same, turned
from lockstep.models import Model
from lockstep.models.feedforward import LinearNet, MLPNet
from lockstep.models.lenet import LeNetModel
from lockstep.models.recurrent import RecurrentNet


def layout(model: Model) -> Layout:
    """The layout of the paddle.nn form of a model."""
    match model:
        case LinearNet():
            return Layout(tuple(_linear("w", "b", "1")))
        case MLPNet(sizes):
            entries = [
                e for i in range(1, len(sizes)) for e in _linear(f"w{i}", f"b{i}", f"{2 * i - 1}")
            ]
            return Layout(tuple(entries))
        case LeNetModel(pooling):
            return _lenet(3 if pooling == "max" else 2)
        case RecurrentNet():
            return _recurrent(model)
    raise InputError("model", type(model).__name__, "has no paddle.nn form", "Use --style scratch.")


def _linear(w: str, b: str, native: str) -> list[Entry]:
    return [Entry(w, f"{native}.weight"), Entry(b, f"{native}.bias")]


def _lenet(num_dense: int) -> Layout:
    entries = [*_linear("conv1_w", "conv1_b", "0"), *_linear("conv2_w", "conv2_b", "3")]
    for i in range(1, num_dense + 1):  # after convolution, ReLU and pooling twice, and Flatten
        entries += _linear(f"fc{i}_w", f"fc{i}_b", f"{5 + 2 * i}")
    return Layout(tuple(entries))


def _recurrent(model: RecurrentNet) -> Layout:
    if model.gates == 3 and model.reset != "after":
        raise InputError(
            "model.reset",
            model.reset,
            "paddle.nn.GRU applies the reset gate after the product",
            "Use --model.reset after, or --style scratch.",
        )
    there, back = (turned, turned) if model.gates == 1 else (_gates_turned, _turned_gates)
    mix = same if model.gates == 1 else _gates
    entries = [
        *_twice("w_x", "weight_ih", there, back),
        *_twice("w_h", "weight_hh", there, back),
        *_twice("b", "bias_ih", mix, mix),
        *_linear("w_out", "b_out", "output"),
    ]
    if model.gates == 1:  # the chapter's RNN has one bias: Paddle's second stays at zero
        unused = ((e.native, (model.num_hiddens,)) for e in _twice("", "bias_hh", same, same))
        return Layout(tuple(entries), frozen=tuple(unused))
    return Layout((*entries, *_twice("b_h", "bias_hh", mix, mix)))


def _twice(name: str, native: str, there: Convert, back: Convert) -> list[Entry]:
    """The one parameter under the layer's name and its cell's."""
    names = (f"layer.{native}_l0", f"layer.0.cell.{native}")
    return [Entry(name, own, there, back) for own in names]


def _gates(array: np.ndarray) -> np.ndarray:
    """z, r, h <-> r, z, c along the last axis: the same exchange in both directions."""
    z, r, h = np.split(array, 3, axis=-1)
    return np.concatenate([r, z, h], axis=-1)


def _gates_turned(array: np.ndarray) -> np.ndarray:
    return turned(_gates(array))  # canonical (in, 3H) -> native (3H, in)


def _turned_gates(array: np.ndarray) -> np.ndarray:
    return _gates(turned(array))  # native (3H, in) -> canonical (in, 3H)
