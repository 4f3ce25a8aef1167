"""Between canonical arrays and the state_dict of the layers in concise.py. Imports no paddle.

Paddle keeps linear weights as (in, out) like ours, but a recurrent layer's as (out, in), with a
GRU's gates in the order r, z, c, and saves them under two names: its own and its cell's.
"""

from __future__ import annotations

from lockstep.frameworks.layout import (
    Entry,
    Layout,
    model_layout,
    recurrent_layout,
    refuse_reset_before,
)
from lockstep.models import Model
from lockstep.models.recurrent import RecurrentNet


def layout(model: Model) -> Layout:
    """The layout of the paddle.nn form of a model."""
    return model_layout(
        model,
        "paddle.nn",
        dense=_linear,
        nth=lambda i: f"{2 * i - 1}",
        lenet=_lenet,
        recurrent=_recurrent,
    )


def _linear(w: str, b: str, native: str) -> list[Entry]:
    return [Entry(w, f"{native}.weight"), Entry(b, f"{native}.bias")]


def _lenet(pooling: str) -> Layout:
    entries = [*_linear("conv1_w", "conv1_b", "0"), *_linear("conv2_w", "conv2_b", "3")]
    # convolution, ReLU and pooling twice, and Flatten are 0 to 6
    for i in range(1, 4 if pooling == "max" else 3):
        entries += _linear(f"fc{i}_w", f"fc{i}_b", f"{5 + 2 * i}")
    return Layout(tuple(entries))


def _recurrent(model: RecurrentNet) -> Layout:
    refuse_reset_before(model, "paddle.nn.GRU")
    names = {"w_x": "weight_ih", "w_h": "weight_hh", "b": "bias_ih", "b_h": "bias_hh"}
    # the one parameter is saved under the layer's name and its cell's
    twice = {own: (f"layer.{n}_l0", f"layer.0.cell.{n}") for own, n in names.items()}
    layer = recurrent_layout(model, twice)
    return layer.with_entries(*_linear("w_out", "b_out", "output"))
