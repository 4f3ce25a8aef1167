"""Between canonical arrays and the parameters of the modules in concise.py. Imports no JAX.

Flax keeps kernels as (height, width, in, out); names are the paths in its tree of parameters.
"""

from __future__ import annotations

import numpy as np

from lockstep.frameworks.layout import KERNEL_LAST, Entry, NativeLayers, entry
from lockstep.models.layers import Dense, Sequential
from lockstep.models.recurrent import RecurrentNet


def _names(model: Sequential) -> dict[str, str]:
    """The dense layers after an image are in a module of their own."""
    inner = "dense/" if len(model.input_shape) == 3 else ""
    layers = [block.layer for block in model.blocks]
    return {x.name: (inner if isinstance(x, Dense) else "") + x.name for x in layers}


def _recurrent(model: RecurrentNet) -> list[Entry]:
    if model.gates == 1:
        native = {"w_x": "cell/i/kernel", "b": "cell/i/bias", "w_h": "cell/h/kernel"}
    else:
        native = {"w_x": "input/kernel", "b": "input/bias"}
        if model.reset == "after":
            native |= {"w_h": "cell/hidden/kernel", "b_h": "cell/hidden/bias"}
    entries = [entry(name, path) for name, path in native.items()]
    return entries if "w_h" in native else [*entries, _split_recurrent(model.num_hiddens)]


def _split_recurrent(num_hiddens: int) -> Entry:
    """A cell that resets before the product has the columns of the candidate apart."""
    return Entry(
        ("w_h",),
        ("cell/gates/kernel", "cell/candidate/kernel"),
        lambda w_h: (w_h[:, : 2 * num_hiddens], w_h[:, 2 * num_hiddens :]),
        lambda *parts: (np.concatenate(parts, axis=1),),
    )


layout = NativeLayers(
    "Flax", _recurrent, _names, weight="/kernel", bias="/bias", kernel=KERNEL_LAST
).layout
