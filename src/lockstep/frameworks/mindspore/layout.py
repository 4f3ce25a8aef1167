"""Between canonical arrays and the parameters of the cells in concise.py. Imports no mindspore.

MindSpore keeps linear weights as (out, in) and a GRU's gates in the order r, z, n.
"""

from __future__ import annotations

from lockstep.frameworks.layout import TRANSPOSED, Entry, NativeLayers, cudnn_entries
from lockstep.models.recurrent import RecurrentNet


def _recurrent(model: RecurrentNet) -> list[Entry]:
    return cudnn_entries(model, "mindspore.nn", "layer.{}_l0")


layout = NativeLayers("mindspore.nn", _recurrent, dense=TRANSPOSED).layout
