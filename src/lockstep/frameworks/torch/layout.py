"""Between canonical arrays and the state_dict of the modules in concise.py. Imports no torch.

PyTorch keeps linear weights as (out, in) and a GRU's gates in the order r, z, n.
"""

from __future__ import annotations

import numpy as np

from lockstep.errors import InputError
from lockstep.frameworks.layout import Entry, Layout, same, turned
from lockstep.models import Model
from lockstep.models.feedforward import LinearNet, MLPNet
from lockstep.models.lenet import LeNetModel
from lockstep.models.recurrent import RecurrentNet


def layout(model: Model) -> Layout:
    """The layout of the torch.nn form of a model."""
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
    raise InputError("model", type(model).__name__, "has no torch.nn form", "Use --style scratch.")


def _linear(w: str, b: str, native: str) -> list[Entry]:
    return [Entry(w, f"{native}.weight", turned, turned), Entry(b, f"{native}.bias")]


def _lenet(num_dense: int) -> Layout:
    entries = []
    for i, native in ((1, "0"), (2, "3")):
        entries.append(Entry(f"conv{i}_w", f"{native}.weight"))
        entries.append(Entry(f"conv{i}_b", f"{native}.bias"))
    for i in range(1, num_dense + 1):  # after convolution, ReLU and pooling twice, and Flatten
        entries += _linear(f"fc{i}_w", f"fc{i}_b", f"{5 + 2 * i}")
    return Layout(tuple(entries))


def _recurrent(model: RecurrentNet) -> Layout:
    if model.gates == 3 and model.reset != "after":
        raise InputError(
            "model.reset",
            model.reset,
            "torch.nn.GRU applies the reset gate after the product",
            "Use --model.reset after, or --style scratch.",
        )
    there, back = (turned, turned) if model.gates == 1 else (_gates_turned, _turned_gates)
    mix = same if model.gates == 1 else _gates
    entries = [
        Entry("w_x", "layer.weight_ih_l0", there, back),
        Entry("w_h", "layer.weight_hh_l0", there, back),
        Entry("b", "layer.bias_ih_l0", mix, mix),
        *_linear("w_out", "b_out", "output"),
    ]
    if model.gates == 1:  # the chapter's RNN has one bias: PyTorch's second stays at zero
        return Layout(tuple(entries), frozen=(("layer.bias_hh_l0", (model.num_hiddens,)),))
    return Layout((*entries, Entry("b_h", "layer.bias_hh_l0", mix, mix)))


def _gates(array: np.ndarray) -> np.ndarray:
    """z, r, h <-> r, z, n along the last axis: the same exchange in both directions."""
    z, r, h = np.split(array, 3, axis=-1)
    return np.concatenate([r, z, h], axis=-1)


def _gates_turned(array: np.ndarray) -> np.ndarray:
    return turned(_gates(array))  # canonical (in, 3H) -> native (3H, in)


def _turned_gates(array: np.ndarray) -> np.ndarray:
    return _gates(turned(array))  # native (3H, in) -> canonical (in, 3H)
