"""Between canonical arrays and what the blocks of concise.py save and load. Imports no mxnet.

Gluon keeps dense weights as (out, in) and a GRU's gates in the order r, z, n; a recurrent layer
saves its arrays under the name of the cells it could be taken apart into.
"""

from __future__ import annotations

from lockstep.frameworks.layout import (
    Layout,
    model_layout,
    recurrent_layout,
    refuse_reset_before,
    turned_entries,
)
from lockstep.models import Model
from lockstep.models.recurrent import RecurrentNet

# pooling is 1 and 3
LENET = {"conv1": "0", "conv2": "2", "fc1": "4", "fc2": "5", "fc3": "6"}


def layout(model: Model) -> Layout:
    """The layout of the gluon form of a model."""
    return model_layout(
        model,
        "gluon",
        dense=turned_entries,
        nth=lambda i: f"{i - 1}",
        lenet=LENET,
        recurrent=_recurrent,
    )


def _recurrent(model: RecurrentNet) -> Layout:
    refuse_reset_before(model, "gluon.rnn.GRU")
    names = {"w_x": "i2h_weight", "w_h": "h2h_weight", "b": "i2h_bias", "b_h": "h2h_bias"}
    cell = "layer._unfused.0"
    layer = recurrent_layout(model, {own: (f"{cell}.{n}",) for own, n in names.items()})
    return layer.with_entries(*turned_entries("w_out", "b_out", "output"))
