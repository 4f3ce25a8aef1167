"""Between canonical arrays and the state_dict of the modules in concise.py. Imports no torch.

PyTorch keeps linear weights as (out, in) and a GRU's gates in the order r, z, n.
"""

from __future__ import annotations

from lockstep.frameworks.layout import (
    Entry,
    Layout,
    model_layout,
    recurrent_layout,
    refuse_reset_before,
    turned,
)
from lockstep.models import Model
from lockstep.models.recurrent import RecurrentNet


def layout(model: Model) -> Layout:
    """The layout of the torch.nn form of a model."""
    return model_layout(
        model,
        "torch.nn",
        dense=_linear,
        nth=lambda i: f"{2 * i - 1}",
        lenet=_lenet,
        recurrent=_recurrent,
    )


def _linear(w: str, b: str, native: str) -> list[Entry]:
    return [Entry(w, f"{native}.weight", turned, turned), Entry(b, f"{native}.bias")]


def _lenet(pooling: str) -> Layout:
    entries = []
    for i, native in ((1, "0"), (2, "3")):
        entries.append(Entry(f"conv{i}_w", f"{native}.weight"))
        entries.append(Entry(f"conv{i}_b", f"{native}.bias"))
    # convolution, ReLU and pooling twice, and Flatten are 0 to 6
    for i in range(1, 4 if pooling == "max" else 3):
        entries += _linear(f"fc{i}_w", f"fc{i}_b", f"{5 + 2 * i}")
    return Layout(tuple(entries))


def _recurrent(model: RecurrentNet) -> Layout:
    refuse_reset_before(model, "torch.nn.GRU")
    names = {"w_x": "weight_ih", "w_h": "weight_hh", "b": "bias_ih", "b_h": "bias_hh"}
    layer = recurrent_layout(model, {own: (f"layer.{n}_l0",) for own, n in names.items()})
    return layer.with_entries(*_linear("w_out", "b_out", "output"))
