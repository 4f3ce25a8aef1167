"""Between canonical arrays and the state_dict of the layers in concise.py. Imports no paddle.

Paddle keeps linear weights as (in, out) like ours, but a recurrent layer's as (out, in), with a
GRU's gates in the order r, z, c, and saves them under two names: its own and its cell's.
"""

from __future__ import annotations

from lockstep.frameworks.layout import (
    Layout,
    model_layout,
    recurrent_layout,
    refuse_reset_before,
    same_entries,
)
from lockstep.models import Model
from lockstep.models.recurrent import RecurrentNet

# with ReLU, pooling and Flatten between them
LENET = {"conv1": "0", "conv2": "3", "fc1": "7", "fc2": "9", "fc3": "11"}


def layout(model: Model) -> Layout:
    """The layout of the paddle.nn form of a model."""
    return model_layout(
        model,
        "paddle.nn",
        dense=same_entries,
        nth=lambda i: f"{2 * i - 1}",
        lenet=LENET,
        recurrent=_recurrent,
    )


def _recurrent(model: RecurrentNet) -> Layout:
    refuse_reset_before(model, "paddle.nn.GRU")
    names = {"w_x": "weight_ih", "w_h": "weight_hh", "b": "bias_ih", "b_h": "bias_hh"}
    # the one parameter is saved under the layer's name and its cell's
    twice = {own: (f"layer.{n}_l0", f"layer.0.cell.{n}") for own, n in names.items()}
    layer = recurrent_layout(model, twice)
    return layer.with_entries(*same_entries("w_out", "b_out", "output"))
