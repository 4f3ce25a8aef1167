"""Between canonical arrays and what the blocks of concise.py save and load. Imports no mxnet.

Gluon keeps dense weights as (out, in) and a GRU's gates in the order r, z, n; a recurrent layer
saves its arrays under the name of the cells it could be taken apart into.
"""

from __future__ import annotations

from lockstep.frameworks.layout import TRANSPOSED, Entry, NativeLayers, cudnn_entries
from lockstep.models.layers import Dense, Flatten, Layer, ReLU, Sequential, Weighted
from lockstep.models.recurrent import RecurrentNet

NAMES = {"w_x": "i2h_weight", "w_h": "h2h_weight", "b": "i2h_bias", "b_h": "h2h_bias"}


def children(model: Sequential) -> list[tuple[Layer, ...]]:
    """The layers that each gluon layer is made of: ReLU is the activation of the layer before it,
    and a dense layer flattens what it is given."""
    found: list[tuple[Layer, ...]] = []
    for layer in model.layers:
        if isinstance(layer, Dense) and found and isinstance(found[-1][0], Flatten):
            found[-1] = (layer,)
        elif isinstance(layer, ReLU) and found and isinstance(found[-1][-1], Weighted):
            found[-1] = (*found[-1], layer)
        else:
            found.append((layer,))
    return found


def _names(model: Sequential) -> dict[str, str]:
    return {x.name: str(i) for i, (x, *_) in enumerate(children(model)) if isinstance(x, Weighted)}


def _recurrent(model: RecurrentNet) -> list[Entry]:
    return cudnn_entries(model, "gluon.rnn", "layer._unfused.0.{}", arrays=NAMES)


layout = NativeLayers("gluon", _recurrent, _names, dense=TRANSPOSED).layout
