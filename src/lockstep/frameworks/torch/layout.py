"""Between canonical arrays and the state_dict of the modules in concise.py. Imports no torch.

PyTorch keeps linear weights as (out, in) and a GRU's gates in the order r, z, n.
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

# with ReLU, pooling and Flatten between them
LENET = {"conv1": "0", "conv2": "3", "fc1": "7", "fc2": "9", "fc3": "11"}


def layout(model: Model) -> Layout:
    """The layout of the torch.nn form of a model."""
    return model_layout(
        model,
        "torch.nn",
        dense=turned_entries,
        nth=lambda i: f"{2 * i - 1}",
        lenet=LENET,
        recurrent=_recurrent,
    )


def _recurrent(model: RecurrentNet) -> Layout:
    refuse_reset_before(model, "torch.nn.GRU")
    names = {"w_x": "weight_ih", "w_h": "weight_hh", "b": "bias_ih", "b_h": "bias_hh"}
    layer = recurrent_layout(model, {own: (f"layer.{n}_l0",) for own, n in names.items()})
    return layer.with_entries(*turned_entries("w_out", "b_out", "output"))
