"""Between canonical arrays and the state_dict of the layers in concise.py. Imports no paddle.

Paddle keeps linear weights as (in, out) like ours, but a recurrent layer's as (out, in), with a
GRU's gates in the order r, z, c, and saves them under two names: its own and its cell's.
"""

from __future__ import annotations

from lockstep.frameworks.layout import Entry, NativeLayers, cudnn_entries
from lockstep.models.recurrent import RecurrentNet


def _recurrent(model: RecurrentNet) -> list[Entry]:
    return cudnn_entries(model, "paddle.nn", "layer.{}_l0", "layer.0.cell.{}")


layout = NativeLayers("paddle.nn", _recurrent).layout
