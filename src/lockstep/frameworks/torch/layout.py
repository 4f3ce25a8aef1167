"""Between canonical arrays and the state_dict of the modules in concise.py. Imports no torch.

PyTorch keeps linear weights as (out, in) and a GRU's gates in the order r, z, n.
"""

from __future__ import annotations

from lockstep.frameworks.layout import TRANSPOSED, Entry, NativeLayers, cudnn_entries
from lockstep.models.recurrent import RecurrentNet


def _recurrent(model: RecurrentNet) -> list[Entry]:
    return cudnn_entries(model, "torch.nn", "layer.{}_l0")


layout = NativeLayers("torch.nn", _recurrent, dense=TRANSPOSED).layout
