"""Between canonical arrays and what the blocks of concise.py save and load. Imports no mxnet.

Gluon keeps dense weights as (out, in) and a GRU's gates in the order r, z, n; a recurrent layer
saves its arrays under the name of the cells it could be taken apart into.
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
    """The layout of the gluon form of a model."""
    return model_layout(
        model,
        "gluon",
        dense=_dense,
        nth=lambda i: f"{i - 1}",
        lenet=_lenet,
        recurrent=_recurrent,
    )


def _dense(w: str, b: str, native: str) -> list[Entry]:
    return [Entry(w, f"{native}.weight", turned, turned), Entry(b, f"{native}.bias")]


def _lenet(pooling: str) -> Layout:
    entries = []
    for i, native in ((1, "0"), (2, "2")):  # pooling is 1 and 3
        entries.append(Entry(f"conv{i}_w", f"{native}.weight"))
        entries.append(Entry(f"conv{i}_b", f"{native}.bias"))
    for i in range(1, 4 if pooling == "max" else 3):
        entries += _dense(f"fc{i}_w", f"fc{i}_b", f"{3 + i}")
    return Layout(tuple(entries))


def _recurrent(model: RecurrentNet) -> Layout:
    refuse_reset_before(model, "gluon.rnn.GRU")
    names = {"w_x": "i2h_weight", "w_h": "h2h_weight", "b": "i2h_bias", "b_h": "h2h_bias"}
    cell = "layer._unfused.0"
    layer = recurrent_layout(model, {own: (f"{cell}.{n}",) for own, n in names.items()})
    return layer.with_entries(*_dense("w_out", "b_out", "output"))
